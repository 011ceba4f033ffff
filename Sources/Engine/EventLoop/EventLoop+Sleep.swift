extension EventLoop {
    /// Waits on a timer of the loop. `Task.sleep` would resume on another thread first.
    ///
    /// - Throws: `CancellationError` as soon as the task is cancelled.
    public func sleep(for delay: Duration) async throws {
        let sleeper = Sleeper()
        try await withTaskCancellationHandler {
            try Task.checkCancellation()
            await withCheckedContinuation { continuation in
                execute { sleeper.begin(on: self, delay, continuation) }
            }
            try Task.checkCancellation()
        } onCancel: {
            execute { sleeper.wake() }
        }
    }
}

/// One sleep in progress. Used on its loop only.
private final class Sleeper: @unchecked Sendable {
    private var timer: LoopTimer?
    private var continuation: CheckedContinuation<Void, Never>?
    private var isAwake = false

    func begin(on loop: EventLoop, _ delay: Duration, _ continuation: CheckedContinuation<Void, Never>) {
        guard !isAwake else { return continuation.resume() }
        self.continuation = continuation
        timer = loop.makeTimer { self.wake() }
        timer?.set(after: delay)
    }

    func wake() {
        isAwake = true
        timer?.unset()
        timer = nil
        continuation?.resume()
        continuation = nil
    }
}
