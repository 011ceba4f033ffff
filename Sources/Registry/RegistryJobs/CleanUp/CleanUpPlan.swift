import PostgresClient
import PushRegistry
import RegistryStore

/// The installations that are due, without the apps that the breaker stops.
///
/// It only reads, a range of pages at a time, so it does not read one snapshot. An installation whose row moves between
/// two ranges meanwhile may be missed until the next night, or be counted although it registered. A batch writes only
/// rows that have not changed since they were read.
struct CleanUpPlan {
    struct Entry {
        let app: AppNumber
        /// Nil if the app's policy cannot be used, or if its node does not respond.
        let bounds: CleanUpBounds?
        let result: CleanUpReport.AppResult
    }

    enum Part {
        /// What is due on some ranges of pages.
        case due(DueBatches)
        /// There was no room for the keys of these pages, so they are read again.
        case pages(PageRange)
    }

    let asOf: Timestamp
    let entries: [Entry]
    /// The bounds of all apps with a usable policy, including those that the breaker stops.
    private let policies: [(app: AppNumber, policy: AppPolicy)]
    /// The pages with due installations of admitted apps.
    let parts: [Part]

    var results: [CleanUpReport.AppResult] { entries.map(\.result) }

    /// - Parameter typedTokens: the expired ones of each app.
    func results(with typedTokens: [AppNumber: Int]) -> [CleanUpReport.AppResult] {
        entries.map { entry in
            var result = entry.result
            result.counts.typedTokens = typedTokens[entry.app] ?? 0
            return result
        }
    }
    var isRefused: Bool { results.contains(where: \.isRefused) }
    /// The apps that are cleaned up.
    var admitted: [(app: AppNumber, bounds: CleanUpBounds)] {
        entries.compactMap { entry in entry.result.isRefused ? nil : entry.bounds.map { (entry.app, $0) } }
    }
    /// Installations that are due.
    var count: Int { entries.reduce(0) { $0 + ($1.result.isRefused ? 0 : $1.result.counts.total) } }

    /// Old receipts and sums of messages, of a run about all apps.
    func messages(_ session: PostgresSession, _ nodes: CleanUpNodes) -> MessagePartitions.Purge {
        MessagePartitions.Purge(session: session, nodes: nodes, policies: policies, asOf: asOf)
    }

    /// - Throws: `CleanUpRefusal.unknownApp`, `PostgresError`.
    init(
        _ session: PostgresSession, _ nodes: CleanUpNodes, _ options: CleanUp.Options,
        _ progress: (CleanUp.Progress) -> Void
    ) throws {
        let asOf: Timestamp = try session.execute(CleanUpStatements.now)[0].decode(0)
        let (usable, unusable) = try Self.apps(session, options)
        let apps = usable.map { ($0, CleanUpBounds($0.policy, asOf: asOf)) }
        let bounds = CleanUpStatements.bounds(apps.map { ($0.number, $1) })
        var counts: [AppNumber: (active: Int, due: CleanUpCounts)] = [:]
        var found: [(range: PageRange, due: [DueInstallations])] = []
        var room = options.isDryRun ? 0 : options.keysMax
        let all = try PageRange.all(of: "installation", by: options.pagesPerRead, session, nodes, .byShard)
        var pace = try CleanUpPace(session)
        for (number, range) in all.enumerated() {
            progress(.reading(number, of: all.count))
            let hasKeys = room > 0
            let rows = try nodes.with(range.apps) {
                try pace.run { try DueInstallations.read(range, bounds, withKeys: hasKeys, session) }
            }
            for row in rows ?? [] {
                counts[row.app, default: (0, CleanUpCounts())].active += row.activeCount
                if let step = row.step { counts[row.app]?.due[step] += row.count }
                room -= row.keys.count
            }
            let due = (rows ?? []).filter { $0.step != nil }
            if !due.isEmpty { found.append((range, due)) }
        }
        let entries =
            apps.map { app, bounds in
                Entry(
                    app: app.number, bounds: nodes.fault(of: app.number) == nil ? bounds : nil,
                    result: nodes.fault(of: app.number).map { Self.result(app, awayBecause: $0) }
                        ?? Self.result(app, counts[app.number] ?? (0, CleanUpCounts()), options.breaker))
            } + unusable.map { Entry(app: $0.number, bounds: nil, result: Self.result($0)) }
        let refused = Set(entries.filter(\.result.isRefused).map(\.app))
        parts = Self.parts(found.map { ($0, $1.filter { !refused.contains($0.app) }) }, keys: options.keysPerPart)
        self.asOf = asOf
        self.entries = entries
        policies = usable.map { ($0.number, $0.policy) }
    }

    /// - Parameter keys: of a part, unless one range of pages has more.
    private static func parts(_ found: [(range: PageRange, due: [DueInstallations])], keys: Int) -> [Part] {
        var parts: [Part] = []
        var open = DueBatches()
        for (range, due) in found where !due.isEmpty {
            if due.contains(where: \.keys.isEmpty) {
                parts.append(.pages(range))
            } else {
                open.add(due)
                if open.count >= keys {
                    parts.append(.due(open))
                    open = DueBatches()
                }
            }
        }
        return open.count > 0 ? parts + [.due(open)] : parts
    }

    private static func result(
        _ app: App, _ count: (active: Int, due: CleanUpCounts), _ breaker: CleanUpBreaker
    ) -> CleanUpReport.AppResult {
        let leaving = count.due.judgements
        let isRefused = breaker.refuses(leaving: leaving, of: count.active)
        return CleanUpReport.AppResult(
            app: app.id.rawValue, active: count.active, leaving: leaving, isRefused: isRefused,
            counts: isRefused ? CleanUpCounts() : count.due)
    }

    private static func result(_ app: App, awayBecause fault: String) -> CleanUpReport.AppResult {
        CleanUpReport.AppResult(
            app: app.id.rawValue, active: 0, leaving: 0, isRefused: false, counts: CleanUpCounts(), nodeFault: fault)
    }

    private static func result(_ app: UnusableApp) -> CleanUpReport.AppResult {
        CleanUpReport.AppResult(
            app: app.id.rawValue, active: 0, leaving: 0, isRefused: true, counts: CleanUpCounts(),
            policyFault: app.reason)
    }

    /// The apps of the run. An app whose policy cannot be used is not changed, and is reported.
    private static func apps(
        _ session: PostgresSession, _ options: CleanUp.Options
    ) throws -> (apps: [App], unusable: [UnusableApp]) {
        var (apps, unusable): ([App], [UnusableApp]) = ([], [])
        for row in try session.execute(CleanUpStatements.apps) {
            let (number, id) = (AppNumber(try row.decode(0)), try AppID(row.decode(1)))
            switch PolicyDocument.policy(ofStored: try row.decode(2)) {
            case .success(let policy): apps.append(App(number: number, id: id, policy: policy))
            case .failure(let error):
                unusable.append(UnusableApp(number: number, id: id, revision: "", reason: error.reason))
            }
        }
        guard !options.apps.isEmpty else { return (apps, unusable) }
        if let unknown = options.apps.subtracting(apps.map(\.id) + unusable.map(\.id)).map(\.rawValue).min() {
            throw CleanUpRefusal.unknownApp(unknown)
        }
        return (
            apps.filter { options.apps.contains($0.id) }, unusable.filter { options.apps.contains($0.id) }
        )
    }
}
