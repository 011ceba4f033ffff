import EventLoop
import Metrics
import PostgresClient

/// Folds the roll-up's deltas in the background. Every service process does; the database lets one at a time.
///
/// What is not folded yet is counted all the same; folding keeps it little, so that readers stay fast. A step is one transaction:
/// if it fails, or its session is killed, nothing has happened.
public struct RollUpFolder: Sendable {
    public struct Limits: Sendable {
        /// A thousand deltas cost a reader half a millisecond, and come together in a second of a busy service.
        public var interval = Duration.seconds(1)
        /// However long folding took.
        public var restMax = Duration.seconds(5)
        /// Deltas of one transaction: the more, the more of them meet in one cell.
        public var batch: Int32 = 100_000
        /// Folded deltas, after which their space is made usable again.
        public var vacuumAfter = 20_000

        public init() {}
    }

    private let postgres: PostgresClient
    private let limits: Limits
    private let folded = Counter(label: "rollup_deltas_folded_total")
    private let failures = Counter(label: "rollup_fold_failures_total")

    /// - Parameter postgres: sessions of its own with the planner's normal settings; one is enough.
    public init(postgres: PostgresClient, limits: Limits = Limits()) {
        self.postgres = postgres
        self.limits = limits
    }

    /// Folds until it is cancelled, at most a quarter of the time: in a flood, those who bring it need the server more than those who ask,
    /// and what has waited is folded the cheaper. What fails is tried again in the next round.
    public func run() async {
        var isPrepared = false
        var dead = 0
        while !Task.isCancelled {
            let start = ContinuousClock.now
            do {
                if !isPrepared {
                    _ = try await postgres.execute(RollUpStatements.prepare)
                    isPrepared = true
                }
                dead += try await fold()
                if dead >= limits.vacuumAfter {
                    dead = 0
                    _ = try await postgres.execute(RollUpStatements.vacuum)
                }
            } catch {
                failures.increment()
            }
            let rest = min(start.duration(to: .now) * 3, limits.restMax)
            try? await postgres.loop.sleep(for: max(limits.interval, rest))
        }
    }

    /// Folds what there is.
    ///
    /// - Returns: how many deltas.
    /// - Throws: `PostgresError`.
    private func fold() async throws -> Int {
        var count = 0
        while !Task.isCancelled {
            let step: Int32 = try await postgres.execute(RollUpStatements.fold(limits.batch))[0].decode(0) ?? 0
            folded.increment(by: Int64(step))
            count += Int(step)
            if step < limits.batch { break }
        }
        return count
    }
}
