import HeapModule

/// The deadlines of one loop, as a value without a clock of its own: the caller says what time it is.
///
/// A deadline that moves later, which is what a connection's does at every request, costs nothing: its entry stays
/// where it is and is looked at again when it comes up. So a timer has at most a few entries, however often it moves.
struct TimerQueue {
    typealias Instant = ContinuousClock.Instant

    private struct Entry: Comparable {
        let at: Instant
        let version: UInt32
        let timer: LoopTimer

        static func < (left: Entry, right: Entry) -> Bool { left.at < right.at }
        static func == (left: Entry, right: Entry) -> Bool { left.at == right.at && left.timer === right.timer }
    }

    private var entries = Heap<Entry>()

    /// When to look again. Nothing is due before.
    var next: Instant? { entries.min?.at }

    var count: Int { entries.count }

    mutating func set(_ timer: LoopTimer, to deadline: Instant) {
        timer.deadline = deadline
        if let queued = timer.queuedAt, queued <= deadline { return }
        push(timer, at: deadline)
    }

    /// The next timer whose deadline has passed; it is unset.
    mutating func popDue(_ now: Instant) -> LoopTimer? {
        while let entry = entries.min, entry.at <= now {
            entries.removeMin()
            guard entry.version == entry.timer.version else { continue }
            entry.timer.queuedAt = nil
            guard let deadline = entry.timer.deadline else { continue }
            guard deadline <= now else {
                push(entry.timer, at: deadline)
                continue
            }
            entry.timer.deadline = nil
            return entry.timer
        }
        return nil
    }

    private mutating func push(_ timer: LoopTimer, at instant: Instant) {
        timer.version &+= 1
        timer.queuedAt = instant
        entries.insert(Entry(at: instant, version: timer.version, timer: timer))
    }
}

/// A deadline on a loop that can be moved and unset cheaply. Belongs to the loop that made it and is used there only.
public final class LoopTimer: @unchecked Sendable {
    unowned let loop: EventLoop
    let fire: @Sendable () -> Void
    var deadline: ContinuousClock.Instant?
    /// When the queue's entry for this timer comes up; `version` tells it from older entries.
    var queuedAt: ContinuousClock.Instant?
    var version: UInt32 = 0

    init(loop: EventLoop, fire: @escaping @Sendable () -> Void) {
        self.loop = loop
        self.fire = fire
    }

    /// Fires once, `delay` from the loop's present time, in place of any earlier setting.
    public func set(after delay: Duration) {
        loop.set(self, to: loop.now + delay)
    }

    public func unset() {
        deadline = nil
    }
}
