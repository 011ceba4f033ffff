import DequeModule
import EventLoop
import PushRegistry

/// A semaphore on an event loop, for work that may wait long. It keeps connections free for other callers.
actor Turns {
    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private let waitingMax: Int
    private var free: Int
    private var waiting = Deque<CheckedContinuation<Void, Never>>()

    /// - Parameters:
    ///   - count: turns at the same time.
    ///   - waitingMax: tasks that wait for one; more are refused.
    init(loop: EventLoop, count: Int, waitingMax: Int) {
        self.loop = loop
        self.waitingMax = waitingMax
        free = count
    }

    /// Runs `body` when a turn is free.
    ///
    /// - Throws: `StoreError.overloaded` if too many wait; what `body` throws.
    nonisolated func withTurn<Value>(_ body: () async throws -> Value) async throws -> Value {
        try await begin()
        do {
            let value = try await body()
            await end()
            return value
        } catch {
            await end()
            throw error
        }
    }

    private func begin() async throws(StoreError) {
        guard waiting.count < waitingMax else { throw .overloaded }
        // Asked only here: on the way to this await others may run.
        await withCheckedContinuation { turn in
            guard free == 0 else {
                free -= 1
                return turn.resume()
            }
            waiting.append(turn)
        }
    }

    private func end() {
        if let next = waiting.popFirst() { next.resume() } else { free += 1 }
    }
}
