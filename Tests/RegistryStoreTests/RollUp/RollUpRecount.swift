import PostgresClient
import PushRegistry
import RegistryStore
import Testing

/// The roll-up held against a recount of the installations, in one snapshot.
struct RollUpRecount {
    let dimensions: RollUpDimensions
    let scope: RollUp.Scope

    /// By every set of dimensions that go together, and by those for which the largest cells are kept in order.
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
                SELECT \(sql: names), sum(count) FROM \(sql: relation) AS r GROUP BY \(sql: places) HAVING sum(count) <> 0
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
            AND (authorization_status IN ('authorized', 'provisional', 'ephemeral')
                OR authorization_status = 'unknown' AND provider NOT IN ('apns', 'apnsSandbox'))
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

    /// What a recount has for columns of the roll-up alone.
    private static let counted: [String: PostgresSQL] = [
        "system_version_key": "version_key(system_version)",
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
        let now: PostgresTimestamp = try await sql("SELECT clock_timestamp()")[0].decode(0)
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
    @discardableResult
    func fold(_ batch: Int32 = 1_000_000) async throws -> Int32? {
        try await sql("SELECT fold_rollup(\(batch))")[0].decode(0)
    }

    /// What the roll-up's own invariants find.
    func brokenRollUp() async throws -> Set<String> {
        let report = try await RegistryVerifier(configuration).verify()
        return Set(report.findings.filter { $0.broken > 0 }.map(\.invariant.name).filter { $0.hasPrefix("rollup-") })
    }
}
