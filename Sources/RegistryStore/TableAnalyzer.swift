import EventLoop
import PostgresClient

/// Analyzes tables that have outgrown their statistics, so that sessions replace plans made while the tables were
/// empty: such a plan reads all of a table for each batch. Autovacuum analyzes tables too, but only once a minute. In
/// that time a registry may grow from nothing to a hundred thousand installations.
public struct TableAnalyzer: Sendable {
    private static let interval = Duration.seconds(1)

    private let postgres: PostgresClient

    public init(postgres: PostgresClient) {
        self.postgres = postgres
    }

    /// Runs until it is cancelled. A failure is retried in the next round, and by autovacuum.
    public func run() async {
        while !Task.isCancelled {
            try? await analyze()
            try? await postgres.loop.sleep(for: Self.interval)
        }
    }

    /// Analyzes grown tables, if the role may: a role that does not own the tables leaves them to autovacuum.
    func analyze() async throws {
        for row in try await postgres.execute(PostgresStatement(TableAnalyzerStatements.grown)) {
            let table: String = try row.decode(0)
            _ = try await postgres.execute(TableAnalyzerStatements.analyze(table))
        }
    }
}

/// The SQL of a service's background task that keeps statistics.
enum TableAnalyzerStatements {
    static let named = [
        NamedStatement("grown", grown),
        NamedStatement(
            "analyze", serving: "Service, every second: analyzes a table that has grown.", analyze("installation")),
    ]

    /// Small tables that have doubled since the last ANALYZE.
    static let grown = PreparedSQL(
        serving: "Service, every second: finds tables that have outgrown their statistics.",
        """
        SELECT oid::regclass::text FROM pg_class
        WHERE oid = ANY ('{installation, token_holder, installation_owner, session, user_guard, installation_logout,
                rollup_cell, rollup_text, notification_counter, notification, notification_dedup}'::regclass[])
            AND relpages < 1000 AND pg_has_role(relowner, 'USAGE')
            AND pg_relation_size(oid) >= (2 * relpages + 8) * current_setting('block_size')::bigint
        """)

    /// - Parameter table: as PostgreSQL spells it, quoted where that is needed.
    static func analyze(_ table: String) -> PostgresStatement {
        PostgresStatement(PostgresSQL(trusted: "ANALYZE (SKIP_LOCKED) \(table)")).unprepared()
    }
}
