public import PostgresClient

/// The number of active installations (R10) by app and provider, from the roll-up: for a gauge. An installation whose
/// session has expired still counts, because its state is `active` until the night job.
public struct InstallationCounts: Sendable {
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
        try await postgres.execute(GaugeStatements.activeInstallations()).map { row in
            Count(app: try row.decode(0), provider: try row.decode(1), active: try row.decode(2))
        }
    }
}
