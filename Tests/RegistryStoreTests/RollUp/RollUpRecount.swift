import PostgresClient
import PushRegistry
import Testing

@testable import RegistryStore

/// The roll-up held against a recount of the installations, in one snapshot.
struct RollUpRecount {
    let dimensions: RollUpDimensions
    let scope: RollUp.Scope

    /// By every set of dimensions that go together, and by those that levels and breakdowns have.
    static let all =
        (sets(of: [.provider, .locale, .authorization, [.timeZone, .sentOffset], [.systemName, .osVersion]])
        + sets(of: [.provider, .locale, .timeZone, .osVersion, .authorization])).flatMap { dimensions in
            [RollUp.Scope.reachable, .active, .all].map { RollUpRecount(dimensions: dimensions, scope: $0) }
        }

    private static func sets(of parts: [RollUpDimensions]) -> [RollUpDimensions] {
        parts.reduce([[]]) { sets, part in sets + sets.map { $0.union(part) } }
    }

    /// Finds the groups that the two count differently.
    func statement(of app: AppNumber, asOf: PostgresTimestamp) -> PostgresStatement {
        let relation = RollUp(of: app, scope: scope, asOf: asOf).relation(by: dimensions)
        let rolled = columns.map { PostgresSQL(identifier: $0) } + ["1"]
        let counted = columns.map { Self.counted[$0] ?? PostgresSQL(identifier: $0) } + ["1"]
        let names = rolled.joined(separator: ", ")
        let places = rolled.indices.map { PostgresSQL(stringLiteral: "\($0 + 1)") }.joined(separator: ", ")
        return PostgresStatement(
            """
            WITH rolled AS (
                SELECT \(sql: names), sum(count) FROM \(sql: relation) AS r GROUP BY \(sql: places)
                HAVING sum(count) <> 0
            ), counted AS (
                SELECT \(sql: counted.joined(separator: ", ")), count(*) FROM installation
                WHERE app_id = \(app.rawValue) AND \(sql: condition(asOf)) GROUP BY \(sql: places)
            )
            SELECT concat('rolled ', r) FROM (TABLE rolled EXCEPT TABLE counted) AS r
            UNION ALL SELECT concat('counted ', c) FROM (TABLE counted EXCEPT TABLE rolled) AS c
            """
        ).unprepared()
    }

    /// The definition of the design, and not the roll-up's.
    private func condition(_ asOf: PostgresTimestamp) -> PostgresSQL {
        switch scope {
        case .all: "true"
        case .active: "state = 'active'"
        case .reachable:
            """
            state = 'active' AND (session_expires_at IS NULL OR session_expires_at > \(asOf))
            AND (\(sql: Self.status) IN ('authorized', 'provisional', 'ephemeral')
                OR \(sql: Self.status) = 'unknown' AND provider NOT IN ('apns', 'apnsSandbox'))
            """
        }
    }

    private var columns: [String] {
        var columns: [String] = []
        if dimensions.contains(.provider) { columns.append("provider") }
        if dimensions.contains(.locale) { columns.append("locale") }
        if dimensions.contains(.timeZone) { columns.append("time_zone_id") }
        if dimensions.contains(.sentOffset) { columns.append("time_zone_offset") }
        if dimensions.contains(.systemName) { columns.append("system_name") }
        if dimensions.contains(.osVersion) { columns.append("system_version_key") }
        if dimensions.contains(.authorization) { columns.append("authorization_status") }
        return columns
    }

    private static let status: PostgresSQL =
        "(enum_range(NULL::authorization_status))[(settings & 15)::integer + 1]"

    /// What a recount has for columns of the roll-up alone.
    private static let counted: [String: PostgresSQL] = [
        "system_version_key": "version_key(system_version)",
        "authorization_status": status,
        "time_zone_offset":
            "CASE WHEN time_zone_id IN (SELECT name FROM known_time_zone) THEN 0 ELSE time_zone_offset END",
    ]
}

extension TestStores {
    /// - Parameter recounts: all questions by default.
    func expectExact(
        _ recounts: [RollUpRecount] = RollUpRecount.all, after: Duration = .zero,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let now: PostgresTimestamp = try await sql(
            "SELECT greatest(clock_timestamp(), latest) FROM registry_clock")[0].decode(0)
        let asOf = PostgresTimestamp(microsecondsSince1970: now.microsecondsSince1970 + Int64(after / .microseconds(1)))
        for recount in recounts {
            let wrong: [String] = try await sql(recount.statement(of: app.number, asOf: asOf)).map { try $0.decode(0) }
            #expect(wrong.isEmpty, "\(recount) \(wrong.prefix(3))", sourceLocation: sourceLocation)
        }
    }

    func count(_ statement: PostgresStatement) async throws -> Int64 {
        try await sql(statement)[0].decode(0)
    }

    /// Folds once.
    ///
    /// - Returns: nil if somebody else folds.
    @discardableResult
    func fold(_ batch: Int = 1_000_000) async throws -> RollUpFold.Outcome? {
        try await PostgresSession.withSession(configuration) { [app] session in
            try RollUpFold.run(app.number, batch: batch, in: session)
        }
    }

    /// What the roll-up's own invariants find.
    func brokenRollUp() async throws -> Set<String> {
        try await PostgresSession.withSession(configuration) { session in
            try session.withTransaction {
                try session.run(script: "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                return try Set(
                    Invariant.rollUp.filter { try session.execute($0.count)[0].decode(0, as: Int.self) > 0 }.map(\.name)
                )
            }
        }
    }

    /// Changes installations by SQL, and their counts with them, as every writer does; then gives them the cells that
    /// fit.
    func change(_ statement: PostgresStatement) async throws {
        try await PostgresSession.withSession(configuration) { [app] session in
            try session.withTransaction {
                try session.run(
                    script: """
                        LOCK TABLE installation IN SHARE ROW EXCLUSIVE MODE;
                        CREATE TEMP TABLE before ON COMMIT DROP AS SELECT * FROM installation
                        """)
                _ = try session.execute(statement.unprepared())
                try session.run(script: Self.appendDeltas)
            }
            var assignment = RollUpCellAssignment(app.number)
            var unit: [PostgresStatement]? = assignment.first
            while let statements = unit { unit = try assignment.next(try statements.map(session.execute)) }
        }
    }

    private static let appendDeltas = """
        INSERT INTO rollup_delta (app_id, transaction_id, cell, expires_at, active, installations)
        SELECT app_id, pg_current_xact_id()::text::bigint, cell, expires_at, sum(active), sum(step)
        FROM (
            SELECT app_id, cell, CASE WHEN state = 'active' THEN session_expires_at END AS expires_at,
                CASE WHEN state = 'active' THEN step ELSE 0 END AS active, step
            FROM (
                SELECT app_id, cell, state, session_expires_at, 1 AS step FROM installation
                UNION ALL
                SELECT app_id, cell, state, session_expires_at, -1 FROM before) AS i) AS c
        GROUP BY 1, 3, 4 HAVING sum(active) <> 0 OR sum(step) <> 0
        """
}
