import DequeModule
import EventLoop
import PushRegistry

/// Lets one transaction of feedback at a time have one of the loop's few connections: a flood of feedback must leave the others to
/// registrations and reads.
actor FeedbackTurns {
    /// Calls that wait for their turn; more are refused. Each may hold 8 MiB.
    static let waitingMax = 32

    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private var isTaken = false
    private var waiting = Deque<CheckedContinuation<Void, Never>>()

    init(loop: EventLoop) {
        self.loop = loop
    }

    /// Waits for the turn, which lasts until `end`.
    ///
    /// - Throws: `StoreError.overloaded`.
    func begin() async throws(StoreError) {
        guard waiting.count < Self.waitingMax else { throw .overloaded }
        // Looked at only here: even on its way to this await, within the actor, a task may let others run.
        await withCheckedContinuation { turn in
            if isTaken { waiting.append(turn) } else { turn.resume() }
            isTaken = true
        }
    }

    /// Gives the turn to who waits longest.
    func end() {
        if let next = waiting.popFirst() { next.resume() } else { isTaken = false }
    }
}
