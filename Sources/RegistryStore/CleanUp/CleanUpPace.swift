import Glibc

/// How long the night job rests between two batches.
///
/// A tenth of what the batch took, and all that it took beyond the fastest one so far: a database that is busy with registrations
/// answers later, and is left alone the longer.
struct CleanUpPace {
    private static let longest = Duration.seconds(2)
    private var fastest: Duration?

    mutating func rest(after took: Duration) -> Duration {
        let fastest = min(fastest ?? took, took)
        self.fastest = fastest
        return min(took / 10 + (took - fastest), Self.longest)
    }

    /// **Blocks** the thread.
    static func sleep(_ time: Duration) {
        let (seconds, attoseconds) = time.components
        usleep(UInt32(seconds) * 1_000_000 + UInt32(attoseconds / 1_000_000_000_000))
    }
}
