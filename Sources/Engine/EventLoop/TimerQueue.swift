import HeapModule

/// The timers of one loop, as a value: the caller passes the time in.
///
/// Setting a later deadline does not touch the heap: the old entry comes up first and is then reinserted. A timer
/// therefore has few entries, however often it moves.
struct TimerQueue {
    typealias Instant = ContinuousClock.Instant

    private struct Entry: Comparable {
        let at: Instant
        let version: UInt32
        let timer: LoopTimer

        static func < (left: Entry, right: Entry) -> Bool { left.at < right.at }
        static func == (left: Entry, right: Entry) -> Bool { left.at == right.at && left.timer === right.timer }
    }

    /// Dead entries are removed when there are more than this many, and more than half of all entries are dead.
    private static let deadEntriesMin = 1_024

    private var entries = Heap<Entry>()
    /// Entries to ignore when they come up: of unset timers, and of timers that were moved earlier.
    private var deadEntries = 0

    /// The earliest time at which a timer may be due.
    var next: Instant? { entries.min?.at }

    var count: Int { entries.count }

    mutating func set(_ timer: LoopTimer, to deadline: Instant) {
        let wasUnset = timer.deadline == nil
        timer.deadline = deadline
        guard let queued = timer.queuedAt else { return push(timer, at: deadline) }
        if queued <= deadline {
            if wasUnset { deadEntries -= 1 }
        } else {
            if !wasUnset { deadEntries += 1 }
            push(timer, at: deadline)
        }
    }

    /// Removes the deadline. The entry stays in the heap until it is due or swept.
    mutating func unset(_ timer: LoopTimer) {
        guard timer.deadline != nil else { return }
        timer.deadline = nil
        deadEntries += 1
        if deadEntries > max(Self.deadEntriesMin, entries.count / 2) { sweep() }
    }

    private mutating func sweep() {
        let alive = entries.unordered.filter { entry in
            let isCurrent = entry.version == entry.timer.version
            if isCurrent, entry.timer.deadline == nil { entry.timer.queuedAt = nil }
            return isCurrent && entry.timer.deadline != nil
        }
        entries = Heap(alive)
        deadEntries = 0
    }

    /// Returns the next timer whose deadline has passed, and unsets it.
    mutating func popDue(_ now: Instant) -> LoopTimer? {
        while let entry = entries.min, entry.at <= now {
            entries.removeMin()
            guard entry.version == entry.timer.version else {
                deadEntries -= 1
                continue
            }
            entry.timer.queuedAt = nil
            guard let deadline = entry.timer.deadline else {
                deadEntries -= 1
                continue
            }
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

/// A deadline on a loop that can be moved and unset cheaply. Used only on the loop that created it, which retains it
/// while it is set.
public final class LoopTimer: @unchecked Sendable {
    unowned let loop: EventLoop
    let fire: @Sendable () -> Void
    var deadline: ContinuousClock.Instant?
    /// When the queue's entry for this timer comes up. `version` distinguishes that entry from older ones.
    var queuedAt: ContinuousClock.Instant?
    var version: UInt32 = 0

    init(loop: EventLoop, fire: @escaping @Sendable () -> Void) {
        self.loop = loop
        self.fire = fire
    }

    /// Fires once, `delay` after the start of the current round (`EventLoop.now`). Replaces any earlier deadline.
    public func set(after delay: Duration) {
        loop.set(self, to: loop.now + delay)
    }

    /// Fires once, at `deadline`. Replaces any earlier deadline.
    public func set(to deadline: ContinuousClock.Instant) {
        loop.set(self, to: deadline)
    }

    /// Removes the deadline, if any. The timer can be set again.
    public func unset() {
        loop.unset(self)
    }
}
