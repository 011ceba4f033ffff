import PostgresClient
import RegistryStore

/// The size of the night job's batches, and its rest between them. It works without a rest while no other session is
/// busy; otherwise it takes small batches and rests most of the time.
struct CleanUpPace {
    /// A rest beside busy sessions, in times of the batch before it: the job works a tenth of the time.
    private static let restFactor = 9
    private static let restMax = Duration.seconds(2)

    private let session: PostgresSession
    /// Other sessions that were busy at the end of the last batch.
    private var busy: Int

    init(_ session: PostgresSession) throws {
        self.session = session
        busy = try Self.busySessions(session)
    }

    /// Installations of one transaction. Their rows are locked for some 200 ms, or 3 ms while others are busy.
    var batch: Int { Self.batch(beside: busy) }

    /// Runs a batch, and rests.
    ///
    /// - Throws: what `batch` throws; `PostgresError`, `cancelled` among them if the task was cancelled.
    mutating func run<Value>(_ batch: () throws -> Value) throws -> Value {
        let start = ContinuousClock.now
        let value = try batch()
        let took = start.duration(to: .now)
        try session.checkCancellation()
        busy = try Self.busySessions(session)
        try session.pause(for: Self.rest(after: took, beside: busy))
        return value
    }

    static func batch(beside busy: Int) -> Int {
        busy == 0 ? 5_000 : 50
    }

    static func rest(after took: Duration, beside busy: Int) -> Duration {
        busy == 0 ? .zero : min(took * restFactor, restMax)
    }

    private static func busySessions(_ session: PostgresSession) throws -> Int {
        try session.execute(CleanUpStatements.busySessions())[0].decode(0)
    }
}
