import EventLoop
import PostgresClient
import PushRegistry
import Synchronization

/// How much audiences may take of the database.
public struct AudienceStoreLimits: Sendable {
    /// How long finding an answer may take; what takes longer is refused.
    public var statementTimeout = Duration.seconds(20)
    /// How long an export may hold its moment: a snapshot holds back vacuum.
    public var exportDeadline = Duration.seconds(900)
    /// Connections of each event loop, apart from those of registrations.
    public var connections = 4

    /// Exports last, so they leave connections for the rest.
    var exportsMax: Int { max(1, connections / 2) }

    public init() {}

    /// Nobody waits for long: an audience call is repeated easily.
    public var pool: PostgresPoolLimits {
        var limits = PostgresPoolLimits(connectionsMin: 0, connectionsMax: connections)
        limits.waitersMax = 256
        limits.waitTimeout = .seconds(2)
        limits.unitTimeout = statementTimeout + .seconds(5)
        return limits
    }

    /// How a session begins. It must not take both cores from registrations, hence no parallel workers.
    public var sessionSettings: [String: String] {
        [
            "statement_timeout": "\(Int64(statementTimeout / .milliseconds(1)))", "jit": "off",
            "max_parallel_workers_per_gather": "0", "default_transaction_read_only": "on",
            "idle_in_transaction_session_timeout": "\(Int64(exportDeadline / .milliseconds(1)))",
        ]
    }
}

/// What a question sees.
struct AudienceMoment {
    let asOf: Timestamp
    /// Whether there are installations of the app of which the roll-up tells no more than provider and authorization.
    let overflows: Bool
}

/// Moments of the database, lent for reading.
struct AudienceSessions {
    let postgres: PostgresClient
    let limits: AudienceStoreLimits

    private static let begin = PreparedSQL("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")
    static let commit = PreparedSQL("COMMIT")

    /// Every audience call (R7, R13): the time of the data, which a standby that lags has from the past. No sweep of
    /// expired sessions that the snapshot has was later than the registry's clock. And whether installations of the app
    /// are counted in overflow cells.
    private static let moment = PreparedSQL(
        """
        SELECT greatest((SELECT latest FROM registry_clock), CASE
            WHEN NOT pg_is_in_recovery() OR pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn() THEN now()
            ELSE coalesce(pg_last_xact_replay_timestamp(), now()) END),
            EXISTS (
                SELECT FROM rollup_cell c
                WHERE c.app_id = $1 AND c.locale_number = 0 AND (
                    EXISTS (SELECT FROM rollup_cube b WHERE b.app_id = $1 AND b.cell = c.number)
                    OR EXISTS (SELECT FROM rollup_delta d WHERE d.app_id = $1 AND d.cell = c.number)))
        """)

    /// Lends a connection within a transaction that sees one moment. Whatever fails, and cancelling, closes the
    /// connection: the server notices, and stops what it does for it, within a second.
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
                            [PostgresStatement(Self.begin), PostgresStatement(Self.moment, app.rawValue)],
                            timeout: timeout)
                        let moment = AudienceMoment(
                            asOf: Timestamp(try opened[1][0].decode(0)), overflows: try opened[1][0].decode(1))
                        return try await body(connection, moment)
                    } catch {
                        await connection.close()
                        throw error
                    }
                } onCancel: {
                    connection.loop.execute {
                        // It may be somebody else's by now.
                        if !loan.isOver { connection.assumeIsolated { $0.close() } }
                    }
                }
            }
        } catch {
            throw Self.refusal(error)
        }
    }

    /// Whether a connection is still in the hands of whoever is cancelled.
    private final class Loan: Sendable {
        private let ended = Atomic<Bool>(false)

        var isOver: Bool { ended.load(ordering: .acquiring) }

        func end() {
            ended.store(true, ordering: .releasing)
        }
    }

    var timeout: Duration { postgres.limits.unitTimeout }

    /// What a caller learns: that it asks too much, that too many ask, or what any store says.
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
