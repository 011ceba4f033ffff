import CLinux
import Foundation
import Synchronization

/// What a loop tells about a descriptor that it watches. Called on the loop's thread.
public protocol ReadinessHandler: AnyObject, Sendable {
    func descriptorIsReady(_ readiness: Readiness)
}

/// One thread with an epoll set, timers and a job queue: the place where a connection, its requests and its database
/// connections live together.
///
/// It is a serial executor, so actors can live on it (`unownedExecutor`) and share its thread without hops, and a task
/// executor, so a task started with it as preference stays on it. A callback of the loop may use
/// `assumeIsolated` on such an actor.
///
/// Nothing may block on it: a call that waits stops every connection of the loop.
public final class EventLoop: Sendable {
    /// Jobs run in one go before sockets and timers get their turn: a task that yields for ever starves nobody.
    static let jobsPerRoundMax = 1_024
    /// And as long as they may take together: jobs that each have much to do, as those of a streamed answer, yield in
    /// vain where only their number counts.
    static let jobTimePerRoundMax = Duration.microseconds(500)

    public let name: String
    private let poller = Poller()
    private let inbox = Inbox()
    private let threadID = Atomic<UInt>(0)

    // The loop's thread alone touches these; before `start` the creating thread does.
    private nonisolated(unsafe) var jobs: [UnownedJob] = []
    private nonisolated(unsafe) var watches = WatchTable()
    private nonisolated(unsafe) var timers = TimerQueue()
    private nonisolated(unsafe) var roundStart = ContinuousClock.now
    private nonisolated(unsafe) var isStopping = false

    /// Starts the loop's thread; it runs until `stop()`.
    public init(name: String) {
        self.name = name
        let started = DispatchSemaphore(value: 0)
        let thread = Thread { [self] in
            threadID.store(UInt(pthread_self()), ordering: .releasing)
            // Foundation's way left some threads with the name of their creator. It has room for 15 bytes.
            _ = pthread_setname_np(pthread_self(), String(name.prefix(15)))
            started.signal()
            run()
        }
        thread.start()
        started.wait()
    }

    /// Whether the caller runs on this loop's thread.
    public var isCurrent: Bool {
        threadID.load(ordering: .acquiring) == UInt(pthread_self())
    }

    /// The time at which the present round began; deadlines count from it.
    public var now: ContinuousClock.Instant { roundStart }

    /// Runs `body` on the loop: soon, after what is queued there. Any thread may call it.
    public func execute(_ body: @escaping @Sendable () -> Void) {
        if inbox.append(.body(body)) { poller.wake() }
    }

    /// Ends the thread after the present round. Jobs queued by then run; what is watched is forgotten, not closed.
    public func stop() {
        execute { self.isStopping = true }
    }
}

// MARK: - Descriptors and timers, on the loop's thread

extension EventLoop {
    /// Watches `descriptor` until `unwatch`. The loop holds `handler` meanwhile.
    public func watch(_ descriptor: CInt, for interest: Readiness, handler: any ReadinessHandler) -> Watch {
        assertCurrent()
        let watch = watches.insert(descriptor, handler)
        poller.watch(descriptor, for: interest, key: watch.key)
        return watch
    }

    public func change(_ watch: Watch, to interest: Readiness) {
        assertCurrent()
        poller.change(watch.descriptor, to: interest, key: watch.key)
    }

    /// Stops watching. Call it before the descriptor is closed; events already taken are not delivered.
    public func unwatch(_ watch: Watch) {
        assertCurrent()
        watches.remove(watch)
        poller.forget(watch.descriptor)
    }

    /// A timer of this loop, not set yet.
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

// MARK: - Executor

extension EventLoop: SerialExecutor, TaskExecutor {
    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        if isCurrent {
            jobs.append(job)
        } else if inbox.append(.job(job)) {
            poller.wake()
        }
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
            // What is ready sets deadlines: they count from the end of the wait, which may have been long.
            poller.wait(
                timeoutMilliseconds: waitMilliseconds(), woken: { roundStart = ContinuousClock.now },
                ready: { watches.handler(for: $0)?.descriptorIsReady($1) })
            takeInbox()
        }
        runJobs()
    }

    private func runJobs() {
        var ran = 0
        let end = jobs.isEmpty ? roundStart : ContinuousClock.now + Self.jobTimePerRoundMax
        while !jobs.isEmpty, ran < Self.jobsPerRoundMax, ran == 0 || ContinuousClock.now < end {
            let batch = jobs
            jobs.removeAll(keepingCapacity: true)
            for job in batch {
                job.runSynchronously(
                    isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
            }
            ran += batch.count
        }
    }

    private func fireTimers() {
        guard let next = timers.next, next <= roundStart else { return }
        while let timer = timers.popDue(roundStart) { timer.fire() }
    }

    private func takeInbox() {
        for item in inbox.takeAll() {
            switch item {
            case .job(let job): jobs.append(job)
            case .body(let body): body()
            }
        }
    }

    /// Zero with jobs at hand, else until the next timer (rounded up, so that it is due on return), else for ever.
    private func waitMilliseconds() -> CInt {
        guard jobs.isEmpty else { return 0 }
        guard let next = timers.next else { return -1 }
        let left = (next - ContinuousClock.now) / .milliseconds(1)
        return CInt(min(max(left.rounded(.up), 0), 60_000))
    }
}
