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
        let number: Int
        let timer: LoopTimer
        let continuation: UnsafeContinuation<Void, any Error>
    }

    private let waitingMax: Int
    private let waitMax: Duration
    private var free: Int
    private var waiting: [AppNumber: Deque<Caller>] = [:]
    /// The apps with waiting callers; the first one is served next.
    private var apps = Deque<AppNumber>()
    private var numbers = 0

    /// - Parameters:
    ///   - count: turns at the same time.
    ///   - waitingMax: callers of an app that wait for one; more are refused.
    ///   - waitMax: how long a caller waits. Then it is refused.
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
        let turn = try await turn(of: app)
        defer { withExtendedLifetime(turn) {} }
        return try await body()
    }

    /// A turn, which ends when the last reference to it is gone.
    ///
    /// - Throws: `StoreError.overloaded`, as `withTurn`.
    nonisolated func turn(of app: AppNumber) async throws -> Turn {
        try await begin(app)
        return Turn(self)
    }

    final class Turn: Sendable {
        private let turns: Turns

        fileprivate init(_ turns: Turns) {
            self.turns = turns
        }

        deinit {
            let turns = turns
            turns.loop.execute { turns.assumeIsolated { $0.end() } }
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
            numbers += 1
            let number = numbers
            let timer = loop.makeTimer { self.assumeIsolated { $0.giveUp(number, of: app) } }
            timer.set(after: waitMax)
            waiting[app, default: []].append(Caller(number: number, timer: timer, continuation: continuation))
        }
    }

    private func giveUp(_ number: Int, of app: AppNumber) {
        guard let index = waiting[app]?.firstIndex(where: { $0.number == number }) else { return }
        let caller = waiting[app]?.remove(at: index)
        if waiting[app]?.isEmpty == true {
            waiting[app] = nil
            apps.removeAll { $0 == app }
        }
        caller?.continuation.resume(throwing: StoreError.overloaded)
    }

    private func end() {
        guard let next = popFirst() else {
            free += 1
            return
        }
        next.timer.unset()
        next.continuation.resume()
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
