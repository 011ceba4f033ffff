import Glibc
import PostgresClient

/// How long the night job rests between two batches.
///
/// A tenth of what the batch took, and all that it took beyond half as much again as the same work took at its fastest so far: a database
/// that is busy with registrations answers later, and is left alone the longer.
struct CleanUpPace {
    private static let longest = Duration.seconds(2)
    /// Of one item.
    private var fastest: Duration?

    /// Carries a batch of so many items, and rests.
    ///
    /// - Throws: what `batch` throws; `cancelled` if the task was cancelled.
    mutating func carry(_ items: Int, _ session: PostgresSession, _ batch: () throws -> Void) throws {
        let took = try ContinuousClock().measure(batch)
        try session.checkCancellation()
        Self.sleep(rest(after: took, for: items))
    }

    mutating func rest(after took: Duration, for items: Int) -> Duration {
        guard items > 0 else { return .zero }
        let fastest = min(fastest ?? took / items, took / items)
        self.fastest = fastest
        return min(took / 10 + max(took - fastest * items * 3 / 2, .zero), Self.longest)
    }

    /// **Blocks** the thread.
    static func sleep(_ time: Duration) {
        let (seconds, attoseconds) = time.components
        usleep(UInt32(seconds) * 1_000_000 + UInt32(attoseconds / 1_000_000_000_000))
    }
}
