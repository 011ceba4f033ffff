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
                    try await prepare()
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

    /// Reads the names of time zones, which an upgrade of PostgreSQL or tzdata may have changed. Changed names are
    /// stored until all their installations have their cells, so another process finishes what one leaves.
    func prepare() async throws {
        _ = try await postgres.execute(RollUpPreparationStatements.learnZones.unprepared())
        let changed = try await postgres.execute(RollUpPreparationStatements.changedZones)
        let names: [String] = try changed.map { try $0.decode(0) }
        guard !names.isEmpty else { return }
        for row in try await postgres.execute(RollUpPreparationStatements.apps(with: names).unprepared()) {
            // Cells distinguish offsets only of unknown zones.
            let assignment = RollUpCellAssignment(AppNumber(try row.decode(0)))
            _ = try await assignment.steps.run { try await postgres.execute($0) }
        }
        _ = try await postgres.execute(RollUpPreparationStatements.forget(names))
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

/// The SQL that prepares a process that folds (R13).
enum RollUpPreparationStatements {
    /// Also records the names that came and went, in the same transaction. The migration leaves out the same
    /// names, which ZoneOffsetsTests checks.
    static let learnZones: PostgresStatement = """
        WITH changed AS MATERIALIZED (
            SELECT t.name AS came, k.name AS went
            FROM (
                SELECT name FROM pg_timezone_names WHERE name <> ALL (\(TimeZoneLinks.notZones.sorted()))
            ) t FULL JOIN known_time_zone k ON k.name = t.name
            WHERE t.name IS NULL OR k.name IS NULL
        ), recorded AS (
            INSERT INTO changed_time_zone SELECT coalesce(came, went) FROM changed ON CONFLICT DO NOTHING
        ), removed AS (
            DELETE FROM known_time_zone WHERE name IN (SELECT went FROM changed)
        ), added AS (
            INSERT INTO known_time_zone SELECT came FROM changed WHERE came IS NOT NULL ON CONFLICT DO NOTHING
        )
        SELECT count(*) FROM changed
        """

    /// Service, at start (R13): reads names that came or went.
    static let changedZones = PostgresStatement("SELECT name FROM changed_time_zone").unprepared()

    /// Service, at start (R13): forgets names whose installations have their cells.
    static func forget(_ zones: [String]) -> PostgresStatement {
        PostgresStatement("DELETE FROM changed_time_zone WHERE name = ANY (\(zones))").unprepared()
    }

    /// Service, at start (R13): finds apps with installations in such a zone.
    static func apps(with zones: [String]) -> PostgresStatement {
        """
        SELECT DISTINCT c.app_id FROM rollup_cell c
        JOIN rollup_text z ON z.app_id = c.app_id AND z.number = c.zone_number
        WHERE z.text = ANY (\(zones))
        """
    }
}
