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
        for row in try await postgres.execute(GrowthStatements.grown()) {
            _ = try await postgres.execute(GrowthStatements.analyze(try row.decode(0), columns: try row.decode(1)))
        }
    }
}

/// The SQL of a service's background task that keeps statistics.
private enum GrowthStatements {
    /// Small tables, and partitions of history, that have doubled since the last ANALYZE; and their columns that an
    /// index has. Requests look up rows by these alone. An ANALYZE of all columns is slow: of a month with 60,000
    /// snapshots it took 750 ms. Autovacuum does it as well, later.
    static let grown = PreparedSQL(
        """
        SELECT oid::regclass::text, (
                SELECT string_agg(DISTINCT quote_ident(a.attname), ', ')
                FROM pg_index x JOIN pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = ANY (x.indkey)
                WHERE x.indrelid = c.oid)
        FROM pg_class c
        WHERE (oid = ANY ('{installation, token_holder, installation_owner, session, user_guard, installation_logout,
                    rollup_cell, rollup_text, notification_counter, notification, notification_dedup,
                    typed_token}'::regclass[])
                OR oid IN (
                    SELECT inhrelid FROM pg_inherits
                    WHERE inhparent IN ('token_event'::regclass, 'settings_snapshot'::regclass)))
            AND relpages < 1000 AND pg_has_role(relowner, 'USAGE')
            AND pg_relation_size(oid) >= (2 * relpages + 8) * current_setting('block_size')::bigint
        """)

    /// - Parameters: names as PostgreSQL spells them, quoted where that is needed.
    static func analyze(_ table: String, columns: String) -> PostgresStatement {
        PostgresStatement(PostgresSQL(trusted: "ANALYZE (SKIP_LOCKED) \(table) (\(columns))")).unprepared()
    }
}
