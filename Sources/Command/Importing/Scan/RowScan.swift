import PushRegistry

/// The facts about all rows that a run needs before it loads the first one.
struct ScanFacts {
    var rows: Int64 = 0
    /// The newest date that is not in the future.
    var newest: Timestamp?
    /// Whether an installation has no date.
    var lacksDates = false
    /// Whether an installation of APNs has no environment.
    var needsEnvironment = false
    /// The apps of the rows, if the format has them.
    var apps: Set<String> = []
    static let appsMax = 1_000

    /// For messages.
    var appNames: String {
        let names = Set(apps.map { NotUnderstood.printable($0) ?? NotUnderstood.others }).sorted()
        return names.prefix(20).map { "\"\($0)\"" }.joined(separator: ", ") + (names.count > 20 ? ", …" : "")
    }

    /// Of the installations.
    var topics = FoundTopics()
}

/// The first pass over the rows: collects facts, and chooses the newest row of each token and each `installId`.
struct RowScan {
    /// Rows that complete one newer row; the others are forgotten.
    private static let supplementsMax = 1_000

    private(set) var facts = ScanFacts()
    private let now: Timestamp
    private var byToken = RowSorter<ScannedRow> { ($0.token, $0.number) < ($1.token, $1.number) }
    private let supplements = SupplementFile()

    init(now: Timestamp) {
        self.now = now
    }

    /// - Parameters:
    ///   - tags: read only of an installation.
    ///   - supplement: likewise; nil if the row does not complete others.
    mutating func add(
        _ outcome: Result<ForeignOutcome, ImportFaults>, app: String?, tags: @autoclosure () -> [ForeignTag] = [],
        supplement: @autoclosure () -> RowSupplement? = nil
    ) throws {
        let number = facts.rows
        facts.rows += 1
        if let app, facts.apps.count < ScanFacts.appsMax { facts.apps.insert(app) }
        guard case .success(let outcome) = outcome else { return }
        switch outcome {
        case .skipped: return
        case .needsEnvironment: facts.needsEnvironment = true
        case .installation(let identity):
            if let seenAt = identity.seenAt {
                if seenAt <= now { facts.newest = max(facts.newest ?? seenAt, seenAt) }
            } else {
                facts.lacksDates = true
            }
            facts.topics.add(tags())
            let place = try supplement().map { try supplements.add($0) }
            try byToken.add(ScannedRow(identity, number: number, supplement: place, now: now))
        }
    }

    /// - Parameter undated: when rows without a date were seen.
    mutating func choice(undated: Timestamp) throws -> RowChoice {
        let undated = undated.microseconds
        var byInstallation = RowSorter<ScannedRow> { ($0.installation, $0.number) < ($1.installation, $1.number) }
        var older = RowSorter<ScannedRow> { $0.number < $1.number }
        var completions = RowSorter<Completion> { ($0.newest, $1.supplement) < ($1.newest, $0.supplement) }
        try Self.choose(
            from: byToken.sorted(), undated, key: \.token, older: { try older.add($0) },
            newest: { newest, supplements in
                try byInstallation.add(newest)
                for place in supplements {
                    try completions.add(Completion(newest: newest.number, supplement: place))
                }
            })
        byToken = RowSorter { ($0.token, $0.number) < ($1.token, $1.number) }
        try Self.choose(
            from: byInstallation.sorted(), undated, key: \.installation, older: { try older.add($0) },
            newest: { _, _ in })
        return RowChoice(
            older: try OlderRows(older.sorted()), completions: try Completions(completions.sorted(), in: supplements))
    }

    /// Passes the newest row of each key to one closure, with the supplements of the others, and all others to the
    /// other one.
    private static func choose(
        from sorted: SortedRows<ScannedRow>, _ undated: Int64, key: KeyPath<ScannedRow, ScannedRow.Key>,
        older: (ScannedRow) throws -> Void, newest: (ScannedRow, _ supplements: [Int64]) throws -> Void
    ) throws {
        var rows = sorted
        var best: ScannedRow?
        var supplements: [Int64] = []
        while let row = try rows.next() {
            guard let known = best, known[keyPath: key] == row[keyPath: key] else {
                if let best { try newest(best, supplements) }
                (best, supplements) = (row, [])
                continue
            }
            let isNewer = row.isNewer(than: known, undated: undated)
            let other = isNewer ? known : row
            try older(other)
            if let place = other.supplement, supplements.count < supplementsMax { supplements.append(place) }
            if isNewer { best = row }
        }
        if let best { try newest(best, supplements) }
    }
}

/// Which rows are imported, of those with the same token or `installId`.
package struct RowChoice: Sendable {
    var older: OlderRows
    var completions: Completions
}

/// The numbers of the rows that are not the newest ones, in ascending order.
struct OlderRows: Sendable {
    private var rows: SortedRows<ScannedRow>
    private var next: ScannedRow?

    fileprivate init(_ rows: SortedRows<ScannedRow>) throws {
        self.rows = rows
        next = try self.rows.next()
    }

    /// Called for each row in the order of the run.
    mutating func contains(_ number: Int64) throws -> Bool {
        guard next?.number == number else { return false }
        next = try rows.next()
        return true
    }
}
