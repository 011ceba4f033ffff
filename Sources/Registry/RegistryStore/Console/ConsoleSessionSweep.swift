import EventLoop
import PostgresClient
import PushRegistry

/// Removes sessions of the console that have ended days ago. Every service does, at its start and every few minutes.
public struct ConsoleSessionSweep: Sendable {
    private static let interval = Duration.seconds(10 * 60)

    private let postgres: PostgresClient

    public init(postgres: PostgresClient) {
        self.postgres = postgres
    }

    /// Sweeps until it is cancelled. A failure is retried in the next round.
    public func run() async {
        while !Task.isCancelled {
            try? await sweep(at: .now())
            try? await postgres.loop.sleep(for: Self.interval)
        }
    }

    /// - Throws: `PostgresError`.
    func sweep(at now: Timestamp) async throws {
        _ = try await postgres.execute(
            PostgresStatement(
                ConsoleSessionStatements.sweep, now.preceding(by: ConsoleSession.keptFor).postgres))
    }
}
