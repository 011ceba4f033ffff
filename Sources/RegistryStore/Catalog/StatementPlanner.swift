public import PostgresClient

/// Asks PostgreSQL for the generic plans of statements. It executes none of them. On Citus, which has no generic plans,
/// a plan is for app 1.
///
/// Each statement is prepared and explained, with NULL for every value, in a transaction that is rolled back. The
/// statements of an import need the temporary table of its session, which is created in this transaction.
public struct StatementPlanner: Sendable {
    public enum Plan: Sendable {
        /// As `EXPLAIN` prints it.
        case lines([String])
        /// PostgreSQL does not plan such a command.
        case none
        /// For example, a role without the right to read a table gets no plan.
        case refused(PostgresError)
    }

    private static let name: PostgresSQL = "statement_of_catalog"

    private let service: PostgresConfiguration
    private let ordinary: PostgresConfiguration

    /// - Parameters:
    ///   - service: sessions with the settings of a service.
    ///   - ordinary: sessions with the settings of the database.
    public init(service: PostgresConfiguration, ordinary: PostgresConfiguration) {
        self.service = service
        self.ordinary = ordinary
    }

    /// A plan for each statement of a topic, in their order.
    ///
    /// - Throws: `PostgresError` if the session cannot be used.
    public func plans(of topic: StatementTopic) async throws -> [Plan] {
        let configuration = topic.sessions == .service ? service : ordinary
        let isDistributed = try await Distribution.exists(in: configuration)
        return try await PostgresSession.withSession(configuration) { session in
            try topic.statements.map { statement in
                try session.checkCancellation()
                return try plan(statement, isDistributed: isDistributed, session)
            }
        }
    }

    private func plan(
        _ statement: NamedStatement, isDistributed: Bool, _ session: PostgresSession
    ) throws -> Plan {
        guard statement.isPlannable else { return .none }
        try session.run(
            script: "BEGIN; SET LOCAL plan_cache_mode = \(isDistributed ? "force_custom_plan" : "force_generic_plan")")
        defer {
            // The end of a transaction does not remove a prepared statement.
            try? session.run(script: "ROLLBACK")
            try? session.run(script: "DEALLOCATE ALL")
        }
        do {
            return .lines(try explain(statement, isDistributed: isDistributed, session))
        } catch let error as PostgresError where error.sqlState != nil {
            return .refused(error)
        }
    }

    private func explain(
        _ statement: NamedStatement, isDistributed: Bool, _ session: PostgresSession
    ) throws -> [String] {
        let sql = isDistributed ? statement.sqlOnCitus ?? statement.sql : statement.sql
        let types: [String] = try statement.types.map { type in
            try session.execute(Self.typeName(type))[0].decode(0)
        }
        let list = types.isEmpty ? "" : " (\(types.joined(separator: ", ")))"
        let prepare: PostgresSQL = """
            PREPARE \(sql: Self.name)\(sql: PostgresSQL(trusted: list)) AS \(sql: PostgresSQL(trusted: sql))
            """
        _ = try session.execute(PostgresStatement(prepare).unprepared())
        let parameters = try session.execute(Self.parameters)[0]
        let (count, isFirstApp) = (try parameters.decode(0, as: Int.self), try parameters.decode(1, as: Bool.self))
        var arguments = [PostgresSQL](repeating: "NULL", count: count)
        // Citus finds the shard by the app.
        if isFirstApp, isDistributed { arguments[0] = "1" }
        let values: PostgresSQL = arguments.isEmpty ? "" : "(\(sql: arguments.joined(separator: ", ")))"
        let explain: PostgresSQL = "EXPLAIN EXECUTE \(sql: Self.name)\(sql: values)"
        return try session.execute(PostgresStatement(explain).unprepared()).map { try $0.decode(0) }
    }

    private static func typeName(_ type: PostgresType) -> PostgresStatement {
        "SELECT format_type(\(Int64(type.rawValue))::oid, NULL)"
    }

    /// Returns their number, and whether the first one is an app's number.
    private static let parameters: PostgresStatement = """
        SELECT cardinality(parameter_types)::bigint, coalesce(parameter_types[1] = 'integer'::regtype, false)
        FROM pg_prepared_statements WHERE name = 'statement_of_catalog'
        """
}
