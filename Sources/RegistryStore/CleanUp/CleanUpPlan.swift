import PostgresClient
import PushRegistry

/// What is due, and where; what the breaker holds back is not among it.
///
/// It is made by reading alone, a range of pages at a time. So it does not see one moment of the table: an installation that moves between
/// two ranges meanwhile may be overlooked until the next night, or be counted although it registered. What is done to it is decided
/// when its row is locked.
struct CleanUpPlan {
    let asOf: Timestamp
    let entries: [(app: AppNumber, result: CleanUpReport.AppResult)]
    let stretches: CleanUpStretches

    var results: [CleanUpReport.AppResult] { entries.map(\.result) }
    var isRefused: Bool { results.contains(where: \.isRefused) }

    /// - Throws: `CleanUpRefusal.unknownApp`, `PostgresError`.
    init(_ session: PostgresSession, _ options: CleanUp.Options, _ progress: (CleanUp.Progress) -> Void) throws {
        asOf = Timestamp(try session.execute(CleanUpStatements.now)[0].decode(0, as: PostgresTimestamp.self))
        let (apps, unusable) = try Self.apps(session, options)
        _ = try session.execute(CleanUpStatements.createBounds)
        _ = try session.execute(
            CleanUpStatements.addBounds(apps.map { [asOf] in ($0.number, CleanUpBounds($0.policy, asOf: asOf)) }))
        _ = try session.execute("ANALYZE cleanup_bounds")
        let read = try Self.read(session, options.pagesPerRead, progress)
        var stretches = read.found
        let inUse = try Self.inUse(session)
        let unjudged = unusable.map { app in
            (
                app.number,
                CleanUpReport.AppResult(
                    app: app.id.rawValue, active: inUse[app.number, default: 0], leaving: 0, isRefused: true,
                    counts: CleanUpCounts(), policyFault: app.reason)
            )
        }
        entries =
            apps.map { app in
                let counts = read.counts[app.number, default: CleanUpCounts()]
                let (leaving, all) = (counts.judgements, inUse[app.number, default: 0])
                let isRefused = options.breaker.refuses(leaving: leaving, of: all)
                return (
                    app.number,
                    CleanUpReport.AppResult(
                        app: app.id.rawValue, active: all, leaving: leaving, isRefused: isRefused,
                        counts: isRefused ? CleanUpCounts() : counts)
                )
            } + unjudged
        let refused = Set(entries.filter(\.result.isRefused).map(\.app))
        _ = try session.execute(CleanUpStatements.withhold(refused.map(\.rawValue)))
        stretches.remove(refused)
        self.stretches = stretches
    }

    /// The apps that the run is about. One whose policy cannot be used is left alone, and reported.
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

    private static func read(
        _ session: PostgresSession, _ size: Int64, _ progress: (CleanUp.Progress) -> Void
    ) throws -> (counts: [AppNumber: CleanUpCounts], found: CleanUpStretches) {
        var counts: [AppNumber: CleanUpCounts] = [:]
        var found = CleanUpStretches()
        var pace = try CleanUpPace(session)
        let ranges = try TablePages.all(of: "installation", by: size, session)
        for (number, pages) in ranges.enumerated() {
            progress(.reading(number, of: ranges.count))
            try pace.carry {
                for row in try session.execute(CleanUpStatements.read(pages).unprepared()) {
                    let (app, count) = (AppNumber(try row.decode(1)), try row.decode(3, as: Int.self))
                    guard let step = CleanUpStep(rawValue: try row.decode(2)) else { continue }
                    counts[app, default: CleanUpCounts()][step] += count
                    found.add(count, of: app, in: try row.decode(0))
                }
            }
        }
        return (counts, found)
    }

    /// Active and suspect installations of each app.
    private static func inUse(_ session: PostgresSession) throws -> [AppNumber: Int] {
        let rows = try session.execute(CleanUpStatements.inUse)
        return Dictionary(uniqueKeysWithValues: try rows.map { (AppNumber(try $0.decode(0)), try $0.decode(1)) })
    }
}
