import Glibc
import PostgresClient

/// How much the night job does at a time, and how long it rests in between: it hurries while nobody else works, and otherwise leaves the
/// database to others for at least as long as it had it.
struct CleanUpPace {
    /// Beyond so many sessions at work the rests grow no longer.
    private static let busyMax = 3
    private static let restMax = Duration.seconds(2)

    private let session: PostgresSession
    /// Other sessions that were at work when the last batch was done.
    private var busy: Int

    init(_ session: PostgresSession) throws {
        self.session = session
        busy = try Self.busySessions(session)
    }

    /// Installations of one transaction, whose rows are locked for some 200 ms, or 5 ms while somebody may want them.
    var batch: Int { Self.batch(beside: busy) }

    /// Carries a batch, and rests.
    ///
    /// - Throws: what `batch` throws; `PostgresError`, `cancelled` among them if the task was cancelled.
    mutating func carry(_ batch: () throws -> Void) throws {
        let took = try ContinuousClock().measure(batch)
        try session.checkCancellation()
        busy = try Self.busySessions(session)
        Self.sleep(Self.rest(after: took, beside: busy))
    }

    static func batch(beside busy: Int) -> Int {
        busy == 0 ? 5_000 : 100
    }

    /// For each of them as long as the batch took.
    static func rest(after took: Duration, beside busy: Int) -> Duration {
        min(took * min(busy, busyMax), restMax)
    }

    private static func busySessions(_ session: PostgresSession) throws -> Int {
        try session.execute(
            """
            SELECT count(*) FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid() AND state = 'active'
                AND backend_type = 'client backend'
            """)[0].decode(0)
    }

    /// **Blocks** the thread.
    static func sleep(_ time: Duration) {
        let (seconds, attoseconds) = time.components
        usleep(UInt32(seconds) * 1_000_000 + UInt32(attoseconds / 1_000_000_000_000))
    }
}
