/// Decides whether a busy loop lets other threads run before it sleeps. A value; the caller passes the time in.
///
/// Threads that share a processor with the loop, such as those of PostgreSQL on the same machine, often have its next
/// input ready once they have run. The loop then continues without sleeping: sleeping and being woken costs more than a
/// small request.
///
/// But a thread that computes keeps the processor for a whole time slice, some milliseconds (sched_yield(2)), while a
/// loop that sleeps gets it back at once. So after such a slice the loop does not give way for a while.
struct GivingWay {
    typealias Instant = ContinuousClock.Instant

    /// If giving way takes longer, a thread that computes had the processor.
    static let durationMax = Duration.milliseconds(1)
    /// How long the loop does not give way after a longer time. Beside a thread that computes, fewer than one request
    /// in a hundred is delayed by a slice.
    static let pause = Duration.seconds(1)

    private var pauseEnd: Instant?

    func isAllowed(at now: Instant) -> Bool { pauseEnd.map { $0 <= now } ?? true }

    /// The loop has given way, and runs again.
    mutating func ended(from start: Instant, to end: Instant) {
        pauseEnd = end - start > Self.durationMax ? end + Self.pause : nil
    }
}
