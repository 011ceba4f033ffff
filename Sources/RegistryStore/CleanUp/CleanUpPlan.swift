import PostgresClient
import PushRegistry

/// What is due, written down in temporary tables of the session; what the breaker holds back is not among it.
struct CleanUpPlan {
    let asOf: Timestamp
    let entries: [(app: AppNumber, result: CleanUpReport.AppResult)]

    var results: [CleanUpReport.AppResult] { entries.map(\.result) }
    var isRefused: Bool { results.contains(where: \.isRefused) }

    init(_ session: PostgresSession, _ breaker: CleanUpBreaker) throws {
        let asOf = Timestamp(try session.execute(CleanUpStatements.now)[0].decode(0, as: PostgresTimestamp.self))
        self.asOf = asOf
        let apps = try session.execute(CleanUpStatements.apps).map { row in
            let policy = try PolicyDocument(text: row.decode(2)).policy()
            return (
                number: AppNumber(try row.decode(0)), id: try row.decode(1, as: String.self),
                bounds: CleanUpBounds(policy, asOf: asOf)
            )
        }
        _ = try session.execute(CleanUpStatements.createBounds)
        _ = try session.execute(CleanUpStatements.addBounds(apps.map { ($0.number, $0.bounds) }))
        _ = try session.execute(CleanUpStatements.plan)
        let active = try Self.active(session)
        let planned = try Self.planned(session)
        entries = apps.map { app in
            let (leaving, counts) = planned[app.number] ?? (0, CleanUpCounts())
            let all = active[app.number] ?? 0
            let isRefused = breaker.refuses(leaving: leaving, ofActive: all)
            return (
                app.number,
                CleanUpReport.AppResult(
                    app: app.id, active: all, leaving: leaving, isRefused: isRefused,
                    counts: isRefused ? CleanUpCounts() : counts)
            )
        }
        let refused = entries.filter(\.result.isRefused).map(\.app.rawValue)
        if !refused.isEmpty { _ = try session.execute(CleanUpStatements.withhold(refused)) }
        _ = try session.execute(CleanUpStatements.indexPlan)
        _ = try session.execute(CleanUpStatements.analyzePlan)
    }

    private static func active(_ session: PostgresSession) throws -> [AppNumber: Int] {
        let rows = try session.execute(CleanUpStatements.active)
        return Dictionary(uniqueKeysWithValues: try rows.map { (AppNumber(try $0.decode(0)), try $0.decode(1)) })
    }

    private static func planned(
        _ session: PostgresSession
    ) throws -> [AppNumber: (leaving: Int, counts: CleanUpCounts)] {
        let rows = try session.execute(CleanUpStatements.planned)
        return Dictionary(
            uniqueKeysWithValues: try rows.map {
                (AppNumber(try $0.decode(0)), (leaving: try $0.decode(1), counts: try CleanUpCounts($0, from: 2)))
            })
    }
}
