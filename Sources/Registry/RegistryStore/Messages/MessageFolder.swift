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
    package static let batch = 20_000
    /// The horizon moves after this many changes. Under a long snapshot, each move leaves a row that readers pass, as
    /// each change does.
    private static let advanceAfter = 5_000
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
        var batches: [AppNumber: FoldBatch] = [:]
        while !Task.isCancelled {
            let start = ContinuousClock.now
            do {
                try await fold(&batches)
            } catch {
                failures.increment()
            }
            let rest = min(start.duration(to: .now), Self.restMax)
            try? await postgres.loop.sleep(for: max(Self.interval, rest))
        }
    }

    /// Folds each app's changes, also if the fold of an earlier app fails.
    func fold(_ batches: inout [AppNumber: FoldBatch]) async throws {
        for row in try await postgres.execute(MessageSumStatements.waiting()) {
            let app = AppNumber(try row.decode(0))
            do {
                try await fold(app, &batches[app, default: FoldBatch(max: Self.batch)])
            } catch {
                failures.increment()
            }
        }
    }

    private func fold(_ app: AppNumber, _ batch: inout FoldBatch) async throws {
        var isFull = true
        while isFull, !Task.isCancelled {
            let limit = batch.size
            let count: Int = try await batch.with { limit in
                try await postgres.execute(MessageSumStatements.fold(app.rawValue, limit))[0].decode(0)
            }
            isFull = count >= limit
            batch.foldedSinceAdvance += count
            guard batch.foldedSinceAdvance >= Self.advanceAfter else { continue }
            let oldest: Int64 = try await postgres.execute(RollUpStatements.moment)[0].decode(0)
            _ = try await postgres.execute(MessageSumStatements.advance(app.rawValue, oldest))
            batch.foldedSinceAdvance = 0
        }
    }
}
