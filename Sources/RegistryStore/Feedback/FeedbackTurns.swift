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
        guard isTaken else {
            isTaken = true
            return
        }
        guard waiting.count < Self.waitingMax else { throw .overloaded }
        await withCheckedContinuation { waiting.append($0) }
    }

    /// Gives the turn to who waits longest.
    func end() {
        isTaken = !waiting.isEmpty
        waiting.popFirst()?.resume()
    }
}
