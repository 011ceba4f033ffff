public import PostgresClient

/// The number of active installations (R10) by app and provider, from the roll-up: for a gauge. An installation whose
/// session has expired still counts, because its state is `active` until the night job.
public struct InstallationCounts: Sendable {
    static let named = [
        NamedStatement("statement", statement)
    ]

    public struct Count: Hashable, Sendable {
        /// The app's identifier.
        public let app: String
        public let provider: String
        public let active: Int64
    }

    private let postgres: PostgresClient

    /// - Parameter postgres: on ordinary planner settings.
    public init(postgres: PostgresClient) {
        self.postgres = postgres
    }

    /// Reads a few cells for each app, and the deltas that are not folded yet.
    ///
    /// - Throws: `PostgresError`.
    public func read() async throws -> [Count] {
        try await postgres.execute(PostgresStatement(Self.statement)).map { row in
            Count(app: try row.decode(0), provider: try row.decode(1), active: try row.decode(2))
        }
    }

    /// Folded deltas are deleted, so nothing is counted twice.
    private static let statement = PreparedSQL(
        serving: "GET /metrics (R10): counts active installations by app and provider.",
        """
        SELECT a.identifier, c.provider::text, sum(c.active)::bigint
        FROM (
            SELECT app_id, provider, active FROM rollup_version
            UNION ALL
            SELECT d.app_id, c.provider, d.active
            FROM (SELECT app_id, cell, sum(active) AS active FROM rollup_delta WHERE topic = 0 GROUP BY 1, 2) AS d
            JOIN rollup_cell c ON c.app_id = d.app_id AND c.number = d.cell) AS c
        JOIN app a ON a.id = c.app_id
        GROUP BY 1, 2
        """)
}
