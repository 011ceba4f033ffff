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
    /// The apps of the rows; at most a few are remembered.
    var apps: Set<String> = []
    /// Of the installations.
    var topics = FoundTopics()
}

/// The first pass over the rows: collects facts, and chooses the newest row of each token and each `installId`.
struct ForeignScan {
    private static let appsMax = 20

    private(set) var facts = ScanFacts()
    private let now: Timestamp
    private var byToken = RowSorter { ($0.token, $0.number) < ($1.token, $1.number) }

    init(now: Timestamp) {
        self.now = now
    }

    /// - Parameter tags: read only of an installation.
    mutating func add(
        _ outcome: Result<ForeignOutcome, ImportFaults>, app: String?, tags: @autoclosure () -> [ForeignTag] = []
    ) throws {
        let number = facts.rows
        facts.rows += 1
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
            try byToken.add(ScannedRow(identity, number: number, now: now))
        }
        if let app, facts.apps.count < Self.appsMax { facts.apps.insert(app) }
    }

    /// - Parameter undated: when rows without a date were seen.
    mutating func olderRows(undated: Timestamp) throws -> OlderRows {
        let undated = undated.microseconds
        var byInstallation = RowSorter { ($0.installation, $0.number) < ($1.installation, $1.number) }
        var older = RowSorter { $0.number < $1.number }
        try Self.choose(
            from: byToken.sorted(), undated, key: \.token, newest: { try byInstallation.add($0) },
            older: { try older.add($0) })
        byToken = RowSorter { ($0.token, $0.number) < ($1.token, $1.number) }
        try Self.choose(
            from: byInstallation.sorted(), undated, key: \.installation, newest: { _ in },
            older: { try older.add($0) })
        return try OlderRows(older.sorted())
    }

    /// Passes the newest row of each key to one closure and all others to the other one.
    private static func choose(
        from sorted: SortedRows, _ undated: Int64, key: KeyPath<ScannedRow, ScannedRow.Key>,
        newest: (ScannedRow) throws -> Void, older: (ScannedRow) throws -> Void
    ) throws {
        var rows = sorted
        var best: ScannedRow?
        while let row = try rows.next() {
            guard let known = best, known[keyPath: key] == row[keyPath: key] else {
                if let best { try newest(best) }
                best = row
                continue
            }
            let isNewer = row.isNewer(than: known, undated: undated)
            try older(isNewer ? known : row)
            if isNewer { best = row }
        }
        if let best { try newest(best) }
    }
}

/// The numbers of the rows that are not the newest ones, in ascending order.
struct OlderRows: Sendable {
    private var rows: SortedRows
    private var next: ScannedRow?

    fileprivate init(_ rows: SortedRows) throws {
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
