import PostgresClient
import PushRegistry

/// What is due, and where; without the apps that the breaker holds back.
///
/// It only reads, a range of pages at a time, so it does not see one moment of the table: an installation that moves
/// between two ranges meanwhile may be overlooked until the next night, or be counted although it registered. A batch
/// writes only what is as it was read.
struct CleanUpPlan {
    struct Entry {
        let app: AppNumber
        let bounds: CleanUpBounds
        let result: CleanUpReport.AppResult
    }

    let asOf: Timestamp
    let entries: [Entry]
    /// Where something is due.
    let ranges: [PageRange]

    var results: [CleanUpReport.AppResult] { entries.map(\.result) }
    var isRefused: Bool { results.contains(where: \.isRefused) }
    /// The apps that are cleaned up.
    var admitted: [Entry] { entries.filter { !$0.result.isRefused } }
    /// Installations that are due.
    var count: Int { admitted.reduce(0) { $0 + $1.result.counts.total } }

    /// - Throws: `CleanUpRefusal.unknownApp`, `PostgresError`.
    init(_ session: PostgresSession, _ options: CleanUp.Options, _ progress: (CleanUp.Progress) -> Void) throws {
        let asOf = Timestamp(try session.execute(CleanUpStatements.now)[0].decode(0, as: PostgresTimestamp.self))
        let apps = try Self.apps(session, options).map { ($0, CleanUpBounds($0.policy, asOf: asOf)) }
        let bounds = CleanUpStatements.bounds(apps.map { ($0.number, $1) })
        var counts: [AppNumber: (active: Int, due: CleanUpCounts)] = [:]
        var ranges: [(range: PageRange, apps: Set<AppNumber>)] = []
        let all = try PageRange.all(of: "installation", by: options.pagesPerRead, session)
        var pace = try CleanUpPace(session)
        for (number, range) in all.enumerated() {
            progress(.reading(number, of: all.count))
            let rows = try pace.run { try session.execute(CleanUpStatements.count(range, bounds).unprepared()) }
            var found = Set<AppNumber>()
            for row in rows {
                let app = AppNumber(try row.decode(0))
                counts[app, default: (0, CleanUpCounts())].active += try row.decode(3, as: Int.self)
                guard let step = try row.decode(1, as: String?.self).flatMap(CleanUpStep.init) else { continue }
                counts[app]?.due[step] += try row.decode(2, as: Int.self)
                found.insert(app)
            }
            if !found.isEmpty { ranges.append((range, found)) }
        }
        let entries = apps.map { app, bounds in
            Entry(
                app: app.number, bounds: bounds,
                result: Self.result(app, counts[app.number] ?? (0, CleanUpCounts()), options.breaker))
        }
        let refused = Set(entries.filter(\.result.isRefused).map(\.app))
        self.asOf = asOf
        self.entries = entries
        self.ranges = ranges.filter { !$0.apps.isSubset(of: refused) }.map(\.range)
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

    private static func apps(_ session: PostgresSession, _ options: CleanUp.Options) throws -> [App] {
        let all = try session.execute(CleanUpStatements.apps).map { row in
            App(
                number: AppNumber(try row.decode(0)), id: try AppID(row.decode(1)),
                policy: try PolicyDocument(text: row.decode(2)).policy())
        }
        guard !options.apps.isEmpty else { return all }
        if let unknown = options.apps.subtracting(all.map(\.id)).map(\.rawValue).min() {
            throw CleanUpRefusal.unknownApp(unknown)
        }
        return all.filter { options.apps.contains($0.id) }
    }
}
