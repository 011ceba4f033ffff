public import PostgresClient

/// The result of the last night job, for gauges: the job is another process, without metrics of its own.
public struct CleanUpResult: Sendable {
    public struct Count: Hashable, Sendable {
        /// The app's identifier.
        public let app: String
        /// A step of the job: `stale`, `purged`… or `typedTokens`.
        public let step: String
        /// Of installations, or of deleted tokens.
        public let count: Int64
    }

    /// Seconds since 1970, by PostgreSQL's clock.
    public let startedAt: Double
    public let finishedAt: Double
    /// The number of apps in which the run would have retired too large a share.
    public let refusedApps: Int64
    public let counts: [Count]

    /// The last run of all apps that came to its end; nil before there is one. A run that undoes another one does not
    /// count, nor does one that was limited to some apps.
    ///
    /// - Throws: `PostgresError`.
    public static func last(_ postgres: PostgresClient) async throws -> CleanUpResult? {
        guard let run = try await postgres.execute(GaugeStatements.lastRun()).first else { return nil }
        let counts = try await postgres.execute(GaugeStatements.countsOfRun(try run.decode(0, as: Int32.self)))
        return CleanUpResult(
            startedAt: try run.decode(1), finishedAt: try run.decode(2), refusedApps: try run.decode(3),
            counts: try counts.map { row in
                Count(app: try row.decode(0), step: try row.decode(1), count: try row.decode(2))
            })
    }
}
