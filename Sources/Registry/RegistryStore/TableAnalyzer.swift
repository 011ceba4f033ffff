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
        for row in try await postgres.execute(PostgresStatement(ServiceStatements.grown)) {
            _ = try await postgres.execute(ServiceStatements.analyze(try row.decode(0), columns: try row.decode(1)))
        }
    }
}
