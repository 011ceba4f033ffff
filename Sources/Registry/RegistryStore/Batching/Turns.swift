import DequeModule
import EventLoop
import PushRegistry

/// A semaphore on an event loop, for work that may wait long. It keeps connections free for other callers. Apps are
/// served in turn, so an app with many callers delays only its own.
actor Turns {
    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// Resumed exactly once: a caller gets its turn at once or waits, and leaves `waiting` only to be resumed. While
    /// one waits, no turn is free, and the end of a turn resumes the next.
    private struct Caller {
        let continuation: UnsafeContinuation<Void, any Error>
        let deadline: ContinuousClock.Instant
    }

    private let waitingMax: Int
    private let waitMax: Duration
    private var free: Int
    private var waiting: [AppNumber: Deque<Caller>] = [:]
    /// The apps with waiting callers; the first one is served next.
    private var apps = Deque<AppNumber>()

    /// - Parameters:
    ///   - count: turns at the same time.
    ///   - waitingMax: callers of an app that wait for one; more are refused.
    ///   - waitMax: how long a caller waits. Later it is refused, when its turn would come.
    init(loop: EventLoop, count: Int, waitingMax: Int, waitMax: Duration) {
        self.loop = loop
        self.waitingMax = waitingMax
        self.waitMax = waitMax
        free = count
    }

    /// Runs `body` when a turn is free.
    ///
    /// - Throws: `StoreError.overloaded` if too many callers of the app wait, or if it waited too long; what `body`
    ///   throws.
    nonisolated func withTurn<Value>(of app: AppNumber, _ body: () async throws -> Value) async throws -> Value {
        try await begin(app)
        do {
            let value = try await body()
            await end()
            return value
        } catch {
            await end()
            throw error
        }
    }

    /// Callers that wait.
    var waitingCount: Int { waiting.values.reduce(0) { $0 + $1.count } }

    private func begin(_ app: AppNumber) async throws {
        guard waiting[app]?.count ?? 0 < waitingMax else { throw StoreError.overloaded }
        // Asked only here: on the way to this await others may run.
        try await withUnsafeThrowingContinuation { continuation in
            guard free == 0 else {
                free -= 1
                return continuation.resume()
            }
            if waiting[app] == nil { apps.append(app) }
            waiting[app, default: []].append(Caller(continuation: continuation, deadline: loop.now + waitMax))
        }
    }

    private func end() {
        while let next = popFirst() {
            guard next.deadline <= loop.now else { return next.continuation.resume() }
            next.continuation.resume(throwing: StoreError.overloaded)
        }
        free += 1
    }

    private func popFirst() -> Caller? {
        guard let app = apps.popFirst(), var callers = waiting.removeValue(forKey: app) else { return nil }
        let caller = callers.popFirst()
        if !callers.isEmpty {
            waiting[app] = callers
            apps.append(app)
        }
        return caller
    }
}
