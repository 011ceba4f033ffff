/// Decides whether a busy loop lets other threads run before it sleeps: a value, the caller passes the time in.
///
/// Threads that share a processor with the loop, such as those of PostgreSQL on the same machine, often have its next
/// input ready once they have run. The loop then goes on without having slept: to sleep and to be woken costs more than
/// a small request.
///
/// But a thread that computes keeps the processor for a whole time slice, some milliseconds (sched_yield(2)), while a
/// loop that sleeps gets it back at once. So after such a time the loop does not give way for a while.
struct GivingWay {
    typealias Instant = ContinuousClock.Instant

    /// Threads that only exchange messages with the loop take less time.
    static let durationMax = Duration.microseconds(500)
    /// The pause after a longer time, in multiples of that: the part of its time that the loop loses to a thread that
    /// computes is limited, however long the system's time slices are.
    static let pauseFactor = 4

    private var pauseEnd: Instant?

    func isAllowed(at now: Instant) -> Bool { pauseEnd.map { $0 <= now } ?? true }

    /// The loop has given way, and runs again.
    mutating func ended(from start: Instant, to end: Instant) {
        let duration = end - start
        pauseEnd = duration > Self.durationMax ? end + duration * Self.pauseFactor : nil
    }
}
