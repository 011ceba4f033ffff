import EventLoop
import PostgresClient
import PushRegistry
import Synchronization

/// Limits of the audiences' use of the database.
public struct AudienceStoreLimits: Sendable {
    /// The longest time of a query; a call that takes longer is refused.
    public var statementTimeout = Duration.seconds(20)
    /// How long an export may keep its snapshot, which holds back vacuum.
    public var exportDeadline = Duration.seconds(900)
    /// Connections of each event loop, in addition to those of registrations.
    public var connections = 4

    /// Exports take long, so they leave connections for other calls.
    var exportsMax: Int { max(1, connections / 2) }

    public init() {}

    /// Callers wait only briefly: an audience call is repeated easily.
    public var pool: PostgresPoolLimits {
        var limits = PostgresPoolLimits(connectionsMin: 0, connectionsMax: connections)
        limits.waitersMax = 256
        limits.waitTimeout = .seconds(2)
        limits.unitTimeout = statementTimeout + .seconds(5)
        return limits
    }

    /// The settings of a session. No parallel workers: one audience must not take all cores from registrations.
    public var sessionSettings: [String: String] {
        [
            "statement_timeout": "\(Int64(statementTimeout / .milliseconds(1)))", "jit": "off",
            "max_parallel_workers_per_gather": "0", "default_transaction_read_only": "on",
            "idle_in_transaction_session_timeout": "\(Int64(exportDeadline / .milliseconds(1)))",
        ]
    }
}

/// The snapshot that a query reads.
struct AudienceMoment: Sendable {
    /// Of a recorded moment an earlier one.
    var asOf: Timestamp
    /// The oldest transaction that was running. All earlier ones have ended; the snapshot has what they wrote.
    let firstRunning: Int64
    /// The run of the server, and its tables: a restored dump, and a failover to another server, change it.
    let identity: String
    /// Of `CubeStatements.state`. A standby that lags does not have the state of a new app yet.
    let state: PostgresRow?

    /// The first unit of a transaction.
    static func reads(of app: AppNumber) -> [PostgresStatement] {
        [AudienceSessionStatements.moment(), CubeStatements.state(app.rawValue)]
    }

    /// - Parameter results: of `reads`.
    init(_ results: [PostgresResult]) throws {
        let row = try results[0][0]
        (firstRunning, identity) = (try row.decode(1), try row.decode(2))
        let now: Timestamp = try row.decode(0)
        state = results[1].first
        asOf = max(now, try state?.decode(4, as: Timestamp?.self) ?? now)
    }
}

/// Lends transactions that read one snapshot.
struct AudienceSessions {
    let postgres: PostgresClient
    let limits: AudienceStoreLimits

    /// Lends a connection within a transaction that reads one snapshot. Any error, and a cancellation, closes the
    /// connection: the server notices it within a second, and stops the statement.
    func withMoment<Value>(
        of app: AppNumber, _ body: (PostgresConnection, AudienceMoment) async throws -> Value
    ) async throws -> Value {
        do {
            return try await postgres.withConnection { connection in
                let loan = Loan()
                return try await withTaskCancellationHandler {
                    defer { loan.end() }
                    do {
                        let opened = try await connection.execute(
                            [AudienceSessionStatements.begin()] + AudienceMoment.reads(of: app), timeout: timeout)
                        return try await body(connection, AudienceMoment(Array(opened.dropFirst())))
                    } catch {
                        await connection.close()
                        throw error
                    }
                } onCancel: {
                    connection.loop.execute {
                        // Another caller may have the connection now.
                        if !loan.isOver { connection.assumeIsolated { $0.close() } }
                    }
                }
            }
        } catch {
            throw Self.refusal(error)
        }
    }

    /// Whether the cancelled caller still has the connection.
    private final class Loan: Sendable {
        private let ended = Atomic<Bool>(false)

        var isOver: Bool { ended.load(ordering: .acquiring) }

        func end() {
            ended.store(true, ordering: .releasing)
        }
    }

    var timeout: Duration { postgres.limits.unitTimeout }

    /// The error for the caller: the query is too expensive, too many callers wait, or an error of any store.
    private static func refusal(_ error: any Error) -> any Error {
        guard let error = error as? PostgresError else { return error }
        switch error.kind {
        case .queryCancelled: return AudienceRefusal.tooExpensive
        // Whether it was the wait for a connection, or the statement that the server did not end in time.
        case .timeout: return error.retry == .yes ? StoreError.overloaded : AudienceRefusal.tooExpensive
        default: return StoreError(error)
        }
    }
}

/// The SQL of audience calls around the query itself, which `AudienceStatements` composes.
enum AudienceSessionStatements {
    /// Every audience call: begins a read-only transaction.
    static let begin = PreparedSQL(
        "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")

    /// Every audience call: ends the transaction.
    static let commit = PreparedSQL(
        "COMMIT")

    /// A standby that lags or is cut off has a time in the past: that of the last commit that it has replayed, or that
    /// of its last checkpoint if it has replayed none since its start. Also returns the oldest running transaction, and
    /// the run of the server with its tables.
    static let moment = PreparedSQL(
        """
        SELECT CASE
                WHEN NOT pg_is_in_recovery() OR pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn()
                    AND EXISTS (SELECT FROM pg_stat_wal_receiver) THEN now()
                ELSE coalesce(
                    pg_last_xact_replay_timestamp(), (SELECT checkpoint_time FROM pg_control_checkpoint())) END,
            pg_snapshot_xmin(pg_current_snapshot())::text::bigint, \(sql: DatabaseIdentityStatements.sql)
        """)

    // MARK: Plans

    /// Audience calls with `explain`: reads the size of the table.
    static let rowsOfTable: PostgresStatement =
        "SELECT greatest(reltuples, 0)::bigint FROM pg_class WHERE oid = 'installation'::regclass"

    /// Audience calls with `explain`: reads a plan.
    static func explain(_ query: PostgresSQL) -> PostgresStatement {
        PostgresStatement("EXPLAIN (FORMAT JSON) \(sql: query)").unprepared()
    }

    // MARK: Exports

    /// POST …/audience/export with a kind: lets the planner look up the installations of the tokens, in the order of
    /// their ids. By its default it would rather read all installations and sort.
    static let lookUpInstallations = PreparedSQL("SELECT set_config('random_page_cost', '1.1', true)")

    /// POST …/audience/export: limits the time of the export's statement.
    static func limitTime(_ duration: Duration) -> PostgresStatement {
        let milliseconds = "\(Int64(duration / .milliseconds(1)))"
        return "SELECT set_config('statement_timeout', \(milliseconds), true)"
    }
}
