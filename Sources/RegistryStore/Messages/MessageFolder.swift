import EventLoop
import Metrics
public import PostgresClient
import PushRegistry

/// Folds the changes of messages' sums in the background. Every service runs it; each change is folded once.
///
/// Counts include changes that are not folded yet. Folding keeps the number of such changes low, so readers stay fast.
public struct MessageFolder: Sendable {
    private static let interval = Duration.seconds(1)
    /// The most changes of one transaction, which takes some tenths of a second.
    static let batch = 20_000
    /// The longest rest after folding.
    private static let restMax = Duration.seconds(5)

    private let postgres: PostgresClient
    private let failures = Counter(label: "message_fold_failures_total")

    /// - Parameter postgres: sessions with the planner's normal settings; one is enough.
    public init(postgres: PostgresClient) {
        self.postgres = postgres
    }

    /// Folds until it is cancelled, at most half of the time. A failure is retried in the next round.
    public func run() async {
        while !Task.isCancelled {
            let start = ContinuousClock.now
            do {
                try await fold()
            } catch {
                failures.increment()
            }
            let rest = min(start.duration(to: .now), Self.restMax)
            try? await postgres.loop.sleep(for: max(Self.interval, rest))
        }
    }

    func fold() async throws {
        for row in try await postgres.execute(PostgresStatement(MessageSumStatements.waiting)) {
            let app = AppNumber(try row.decode(0))
            var isFull = true
            while isFull, !Task.isCancelled {
                let rows = try await postgres.execute(MessageSumStatements.fold(app, limit: Self.batch))
                isFull = try rows[0].decode(0, as: Int.self) >= Self.batch
            }
        }
    }

    /// Folds all changes of all apps, for the night job.
    static func foldAll(in session: PostgresSession) throws {
        for row in try session.execute(PostgresStatement(MessageSumStatements.waiting)) {
            let app = AppNumber(try row.decode(0))
            while try session.execute(MessageSumStatements.fold(app, limit: batch))[0].decode(0, as: Int.self) >= batch
            {
                try session.checkCancellation()
            }
        }
    }
}
