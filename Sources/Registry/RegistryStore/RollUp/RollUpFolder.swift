import EventLoop
import Metrics
import PostgresClient
import PushRegistry

/// Folds the roll-up's deltas in the background. Every service runs it; a lock in the database lets one service fold an
/// app at a time.
///
/// Services have the cubes of their apps in memory and follow the deltas. Folding serves a process that reads a cube
/// for the first time.
public struct RollUpFolder: Sendable {
    public struct Limits: Sendable {
        /// How often the folder looks for deltas.
        public var interval = Duration.milliseconds(500)
        /// The number of waiting deltas of an app that starts a fold at once. Each costs a process that reads the cube
        /// anew about a microsecond. The more deltas of one cell are folded together, the less each costs the folder.
        public var deltasMax = 50_000
        /// The same for expired sessions: each costs every count about a microsecond.
        public var expiriesMax = 5_000
        /// After this time since an app's newest mark (`rollup_state.marked_at`), fewer of both are folded, too, and
        /// folded deltas are kept no longer.
        public var ageMax = Duration.seconds(60)
        /// The longest rest after folding.
        public var restMax = Duration.seconds(5)
        /// The most deltas of one transaction.
        public var batch = RollUpFold.batchMax
        /// The number of folded rows after which a vacuum frees their space.
        public var vacuumAfter = 20_000

        public init() {}
    }

    /// How long a look at an app's deltas may take on Citus. Beyond it, the app's node counts as hanging.
    private static let lookOnCitusTimeout = Duration.seconds(2)

    private let resources: LoopResources
    private let limits: Limits
    private let folded = Counter(label: "rollup_deltas_folded_total")
    private let failures = Counter(label: "rollup_fold_failures_total")

    /// - Parameter resources: sessions of its own with the planner's normal settings; one is enough.
    public init(_ resources: LoopResources, limits: Limits = Limits()) {
        self.resources = resources
        self.limits = limits
    }

    private var postgres: PostgresClient { resources.postgres }

    /// Folds until it is cancelled, at most an eighth of the time: in a flood, registrations need the server more than
    /// audiences do, and larger batches cost less for each delta. A failure is retried in the next round.
    public func run() async {
        var batches: [AppNumber: FoldBatch] = [:]
        var isPrepared = false
        var removed = 0
        while !Task.isCancelled {
            let start = ContinuousClock.now
            do {
                if !isPrepared {
                    try await RollUpPreparation(postgres: postgres).run()
                    isPrepared = true
                }
                for app in try await due() {
                    removed +=
                        await apart(app) {
                            try await fold(app, &batches[app, default: FoldBatch(max: limits.batch)])
                        } ?? 0
                }
                if removed >= limits.vacuumAfter {
                    removed = 0
                    _ = try await postgres.execute(RollUpStatements.vacuum)
                }
            } catch {
                failures.increment()
            }
            let rest = min(start.duration(to: .now) * 7, limits.restMax)
            try? await postgres.loop.sleep(for: max(limits.interval, rest))
        }
    }

    /// The apps to fold.
    func due() async throws -> [AppNumber] {
        guard resources.isDistributed else { return try await apps(RollUpStatements.due(limits)) }
        var due: [AppNumber] = []
        for app in try await apps(RollUpStatements.allApps) {
            due +=
                await apart(app) { try await apps(RollUpStatements.due(limits, in: app), Self.lookOnCitusTimeout) }
                ?? []
        }
        return due
    }

    private func apps(_ statement: PostgresStatement, _ timeout: Duration? = nil) async throws -> [AppNumber] {
        try await postgres.execute(statement, timeout: timeout).map { AppNumber(try $0.decode(0)) }
    }

    /// An app whose fold fails, or whose node on Citus is away or hangs, does not keep others from being folded.
    ///
    /// - Returns: nil if `body` failed or was left out.
    private func apart<Value>(_ app: AppNumber, _ body: () async throws -> Value) async -> Value? {
        do {
            return try await resources.serving(app, body)
        } catch {
            failures.increment()
            return nil
        }
    }

    /// Folds the waiting deltas and expired sessions of an app.
    ///
    /// - Returns: how many rows were removed.
    private func fold(_ app: AppNumber, _ batch: inout FoldBatch) async throws -> Int {
        var removed = 0
        while !Task.isCancelled,
            let outcome = try await batch.with({ try await RollUpFold.run(app, batch: $0, on: postgres) })
        {
            folded.increment(by: Int64(outcome.deltas))
            removed += outcome.removed + outcome.expiries
            if !outcome.isFull { break }
        }
        return removed
    }
}

/// The most rows of an app's next fold. A failure halves it: a smaller batch needs less time, memory and disk. A
/// success adds an eighth.
struct FoldBatch {
    let max: Int
    private(set) var size: Int
    /// Of changes of messages.
    var foldedSinceAdvance = 0

    init(max: Int) {
        (self.max, size) = (max, max)
    }

    mutating func with<Value>(_ fold: (_ batch: Int) async throws -> Value) async throws -> Value {
        do {
            let value = try await fold(size)
            size = min(max, size + size / 8 + 1)
            return value
        } catch {
            size = Swift.max(1, size / 2)
            throw error
        }
    }
}
