import CLinux
import DequeModule
import Foundation
import Synchronization

/// Receives the events of a watched descriptor, on the loop's thread.
public protocol ReadinessHandler: AnyObject, Sendable {
    /// Called in each round while an event of the watch persists (level-triggered, epoll(7)). `.failed` may be set
    /// without being requested.
    func descriptorIsReady(_ readiness: Readiness)
}

/// One thread with an epoll set, timers and a job queue. A connection, its requests and its database connections share
/// one loop.
///
/// It is a serial executor: actors can run on it (`unownedExecutor`) and call each other without switching threads. It
/// is also a task executor: a task that prefers it stays on it. A callback of the loop may use `assumeIsolated` on such
/// an actor.
///
/// Nothing may block on it: a blocking call stops every connection of the loop.
public final class EventLoop: Sendable {
    /// The most jobs between two looks at sockets and timers. Without it, a task that yields again and again starves
    /// them.
    static let jobsPerRoundMax = 1_024
    /// Time limit for the jobs of one round. A count alone does not bound rounds whose jobs are expensive, such as
    /// those of a streamed response.
    static let jobTimePerRoundMax = Duration.microseconds(500)
    /// Jobs between two readings of the clock, because a reading costs as much as a small job.
    static let jobsPerClockReadMax = 4
    /// The longest wait for events, since epoll_wait(2) takes milliseconds as a C int.
    private static let waitMax = Duration.seconds(60)

    /// Also the thread's name, cut to 15 characters (pthread_setname_np(3)).
    public let name: String
    private let poller = Poller()
    private let inbox = Inbox()
    private let threadID = Atomic<UInt>(0)

    // Used on the loop's thread only; before it starts, by the creating thread.
    private nonisolated(unsafe) var jobs: Deque<Inbox.Item> = []
    private nonisolated(unsafe) var watches = WatchTable()
    private nonisolated(unsafe) var timers = TimerQueue()
    private nonisolated(unsafe) var roundWaiters: [UnsafeContinuation<Void, Never>] = []
    nonisolated(unsafe) var sleepers: [ObjectIdentifier: Sleeper] = [:]
    private nonisolated(unsafe) var givingWay = GivingWay()
    /// The last wait ended with events.
    private nonisolated(unsafe) var hadEvents = false
    private nonisolated(unsafe) var roundStart = ContinuousClock.now
    private nonisolated(unsafe) var isStopping = false

    /// Starts the loop's thread. It runs until `stop()`, and retains the loop until then.
    public init(name: String) {
        self.name = name
        let started = DispatchSemaphore(value: 0)
        let thread = Thread { [self] in
            threadID.store(UInt(pthread_self()), ordering: .releasing)
            // Foundation left some threads with the name of their creator. A thread's name has at most 15 bytes.
            _ = pthread_setname_np(pthread_self(), String(name.prefix(15)))
            started.signal()
            run()
            // The system may reuse the thread's id.
            threadID.store(0, ordering: .releasing)
        }
        thread.start()
        started.wait()
    }

    /// Whether the caller runs on this loop's thread.
    public var isCurrent: Bool {
        threadID.load(ordering: .acquiring) == UInt(pthread_self())
    }

    /// The start of the current round; delays of timers count from it. Read it on the loop.
    public var now: ContinuousClock.Instant { roundStart }

    /// Runs `body` on the loop, soon. The calls of one thread run in order. Any thread may call it.
    public func execute(_ body: @escaping @Sendable () -> Void) {
        add(.body(body))
    }

    private func add(_ item: Inbox.Item) {
        if isCurrent {
            jobs.append(item)
        } else if inbox.append(item) {
            poller.wake()
        }
    }

    /// Ends the thread after the current round. Jobs queued before run, later ones never do. Tasks that sleep on the
    /// loop get a `CancellationError`. Watched descriptors are not closed.
    public func stop() {
        execute { self.isStopping = true }
    }
}

// MARK: - Descriptors and timers, on the loop's thread

extension EventLoop {
    /// Watches `descriptor` until `unwatch`, and retains `handler` until then.
    ///
    /// - Returns: nil if the system has no memory or watches left (epoll_ctl(2): `ENOMEM`, `ENOSPC`).
    public func watchIfPossible(
        _ descriptor: CInt, for interest: Readiness, handler: any ReadinessHandler
    ) -> Watch? {
        assertCurrent()
        let watch = watches.insert(descriptor, handler)
        guard poller.watch(descriptor, for: interest, key: watch.key) else {
            watches.remove(watch)
            return nil
        }
        return watch
    }

    /// Replaces the watched events; with `[]` only `.failed` is still reported. Traps if the descriptor is not watched
    /// (epoll_ctl(2)).
    public func change(_ watch: Watch, to interest: Readiness) {
        assertCurrent()
        poller.change(watch.descriptor, to: interest, key: watch.key)
    }

    /// Stops watching. Call it before closing the descriptor. Events already received are not delivered.
    public func unwatch(_ watch: Watch) {
        assertCurrent()
        watches.remove(watch)
        poller.unwatch(watch.descriptor)
    }

    /// Creates a timer that is not set. `fire` runs on the loop's thread.
    public func makeTimer(_ fire: @escaping @Sendable () -> Void) -> LoopTimer {
        LoopTimer(loop: self, fire: fire)
    }

    func set(_ timer: LoopTimer, to deadline: ContinuousClock.Instant) {
        assertCurrent()
        timers.set(timer, to: deadline)
    }

    func unset(_ timer: LoopTimer) {
        assertCurrent()
        timers.unset(timer)
    }

    private func assertCurrent() {
        assert(isCurrent, "only the loop's own thread may do this")
    }
}

extension EventLoop {
    /// Waits until the loop has handled the events that have arrived. Tasks that these events resume run first. Call it
    /// on the loop.
    public func nextRound() async {
        assertCurrent()
        await withUnsafeContinuation { roundWaiters.append($0) }
    }

    private func resumeRoundWaiters() {
        for waiter in roundWaiters { waiter.resume() }
        roundWaiters.removeAll(keepingCapacity: true)
    }
}

// MARK: - Executor

extension EventLoop: SerialExecutor, TaskExecutor {
    /// Queues the job behind all others. Any thread may call it. A job queued after the thread has ended never runs.
    public func enqueue(_ job: consuming ExecutorJob) {
        add(.job(UnownedJob(job)))
    }

    public func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        UnownedSerialExecutor(ordinary: self)
    }

    public func isIsolatingCurrentContext() -> Bool? {
        isCurrent
    }

    public func checkIsolated() {
        precondition(isCurrent, "not on the event loop \(name)")
    }
}

// MARK: - The thread

extension EventLoop {
    private func run() {
        while !isStopping {
            runJobs()
            fireTimers()
            let count = waitForEvents()
            // Handlers set deadlines, which count from the end of the wait: the wait may have been long.
            roundStart = ContinuousClock.now
            hadEvents = count > 0
            let isWoken = poller.deliver(count) { watches.handler(for: $0)?.descriptorIsReady($1) }
            if isWoken { inbox.moveAll(to: &jobs) }
            resumeRoundWaiters()
        }
        resumeRoundWaiters()
        for sleeper in sleepers.values { sleeper.cancel() }
        inbox.moveAll(to: &jobs)
        for _ in 0..<jobs.count { runJob() }
    }

    private func waitForEvents() -> Int {
        let timeout = isStopping ? 0 : waitMilliseconds()
        if timeout != 0, hadEvents, let count = giveWay() { return count }
        return poller.wait(timeoutMilliseconds: timeout)
    }

    /// Lets other threads run, see `GivingWay`.
    ///
    /// - Returns: the number of events that have arrived meanwhile; nil if there are none.
    private func giveWay() -> Int? {
        let start = ContinuousClock.now
        guard givingWay.isAllowed(at: start) else { return nil }
        sched_yield()
        givingWay.ended(from: start, to: .now)
        let count = poller.wait(timeoutMilliseconds: 0)
        return count > 0 ? count : nil
    }

    private func runJobs() {
        guard !jobs.isEmpty else { return }
        let end = ContinuousClock.now + Self.jobTimePerRoundMax
        for number in 1...Self.jobsPerRoundMax {
            guard runJob() else { return }
            if number.isMultiple(of: Self.jobsPerClockReadMax), ContinuousClock.now >= end { return }
        }
    }

    /// - Returns: false if no job is queued.
    @discardableResult private func runJob() -> Bool {
        guard let job = jobs.popFirst() else { return false }
        switch job {
        case .job(let job):
            job.runSynchronously(isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
        case .body(let body): body()
        }
        return true
    }

    private func fireTimers() {
        guard let next = timers.next, next <= roundStart else { return }
        while let timer = timers.popDue(roundStart) { timer.fire() }
    }

    /// Zero if jobs are queued or tasks wait for the next round, else the time to the next timer (rounded up, so that
    /// the timer is due on return), else -1.
    private func waitMilliseconds() -> CInt {
        guard jobs.isEmpty, roundWaiters.isEmpty else { return 0 }
        guard let next = timers.next else { return -1 }
        let left = min(next - ContinuousClock.now, Self.waitMax) / .milliseconds(1)
        return CInt(max(left.rounded(.up), 0))
    }
}

/// Decides whether a busy loop lets other threads run before it sleeps. A value; the caller passes the time in.
///
/// Threads that share a processor with the loop, such as those of PostgreSQL on the same machine, often have its next
/// input ready once they have run. The loop then continues without sleeping: sleeping and being woken costs more than a
/// small request.
///
/// But a thread that computes keeps the processor for a whole time slice, some milliseconds (sched_yield(2)), while a
/// loop that sleeps gets it back at once. So after such a slice the loop does not give way for a while.
struct GivingWay {
    typealias Instant = ContinuousClock.Instant

    /// If giving way takes longer, a thread that computes had the processor.
    static let durationMax = Duration.milliseconds(1)
    /// How long the loop does not give way after a longer time. Beside a thread that computes, fewer than one request
    /// in a hundred is delayed by a slice.
    static let pause = Duration.seconds(1)

    private var pauseEnd: Instant?

    func isAllowed(at now: Instant) -> Bool { pauseEnd.map { $0 <= now } ?? true }

    /// The loop has given way, and runs again.
    mutating func ended(from start: Instant, to end: Instant) {
        pauseEnd = end - start > Self.durationMax ? end + Self.pause : nil
    }
}

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

/// Runs long work on another thread and returns its result. On an event loop, all of the loop's connections would wait
/// for the work.
///
/// A handler's task prefers its loop, and so does everything the handler calls, `@concurrent` functions included
/// (SE-0417). A detached task does not. It is awaited here, and cancelled with the calling task.
public func offLoop<Value: Sendable, Failure: Error>(
    _ work: @escaping @Sendable () async throws(Failure) -> Value
) async throws(Failure) -> Value {
    let task = Task.detached { () async -> Result<Value, Failure> in
        do throws(Failure) {
            return .success(try await work())
        } catch {
            return .failure(error)
        }
    }
    return try await withTaskCancellationHandler {
        await task.value
    } onCancel: {
        task.cancel()
    }.get()
}
