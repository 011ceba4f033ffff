extension EventLoop {
    /// Waits on a timer of the loop. `Task.sleep` would resume on another thread first.
    ///
    /// - Throws: `CancellationError` as soon as the task is cancelled or the loop stops.
    public func sleep(for delay: Duration) async throws {
        let sleeper = Sleeper(loop: self)
        try await withTaskCancellationHandler {
            try Task.checkCancellation()
            try await withCheckedThrowingContinuation { continuation in
                execute { sleeper.begin(delay, continuation) }
            }
        } onCancel: {
            execute { sleeper.cancel() }
        }
    }
}

/// One sleep in progress. Used on its loop only.
final class Sleeper: @unchecked Sendable {
    private let loop: EventLoop
    private var timer: LoopTimer?
    private var continuation: CheckedContinuation<Void, any Error>?
    private var isCancelled = false

    init(loop: EventLoop) {
        self.loop = loop
    }

    func begin(_ delay: Duration, _ continuation: CheckedContinuation<Void, any Error>) {
        guard !isCancelled else { return continuation.resume(throwing: CancellationError()) }
        self.continuation = continuation
        loop.sleepers[ObjectIdentifier(self)] = self
        timer = loop.makeTimer { self.end(.success(())) }
        timer?.set(after: delay)
    }

    func cancel() {
        isCancelled = true
        end(.failure(CancellationError()))
    }

    private func end(_ result: Result<Void, any Error>) {
        timer?.unset()
        timer = nil
        loop.sleepers[ObjectIdentifier(self)] = nil
        continuation?.resume(with: result)
        continuation = nil
    }
}
