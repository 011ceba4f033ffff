import DequeModule
import EventLoop

/// The tasks that run the handlers of one loop: children of the task that calls ``run()``, which lasts until the last
/// of them has ended.
///
/// A task serves one call after another, as making one costs more than all the rest of a small request. A cancelled
/// one ends with its call. Used on its loop only.
final class HandlerTasks: @unchecked Sendable {
    /// A request to be answered, or to be admitted.
    struct Call {
        let connection: HTTPConnection
        let exchange: Exchange
        let isAdmission: Bool
    }

    /// Tasks that wait for calls, at about a kilobyte each; more end after their call.
    static let parkedMax = 256

    /// Where the handlers run: a call of another actor of the loop is then no switch of executors. The tasks prefer
    /// the loop besides, for code that is isolated to nobody, such as the witness of a protocol's function: without
    /// it such code would run on the global pool, and come back.
    private actor Home {
        nonisolated let loop: EventLoop
        nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

        init(loop: EventLoop) { self.loop = loop }
    }

    private let home: Home
    private var parked: [UnsafeContinuation<Call?, Never>] = []
    /// Calls for which there is no task yet. Each connection has one at most.
    private var waiting: Deque<Call> = []
    /// Tasks that were added and have not taken a call yet.
    private var starting = 0
    private var grower: UnsafeContinuation<Void, Never>?
    private var isStopping = false

    init(loop: EventLoop) {
        home = Home(loop: loop)
    }

    /// Has a task carry out the call, soon.
    func start(_ call: Call) {
        if let task = parked.popLast() { return task.resume(returning: call) }
        waiting.append(call)
        if waiting.count > starting { wakeGrower() }
    }

    /// Owns the tasks until `stop()` was called and the last call has ended. On the loop.
    ///
    /// Cancelling the task that calls it would cancel all handlers.
    func run() async {
        await withDiscardingTaskGroup { group in
            while await isTaskMissing() {
                starting += 1
                group.addTask(executorPreference: home.loop) { [home] in await self.work(on: home) }
            }
        }
    }

    /// No call will come.
    func stop() {
        isStopping = true
        wakeGrower()
        for task in parked { task.resume(returning: nil) }
        parked = []
    }

    /// Waits until there are more calls than tasks for them; false once no call will come.
    private func isTaskMissing() async -> Bool {
        while waiting.count <= starting, !isStopping {
            await withUnsafeContinuation { continuation in
                // On the way to this await others may have run.
                if waiting.count > starting || isStopping { continuation.resume() } else { grower = continuation }
            }
        }
        return waiting.count > starting
    }

    private func wakeGrower() {
        grower?.resume()
        grower = nil
    }

    private func work(on home: isolated Home) async {
        starting -= 1
        guard let task = withUnsafeCurrentTask(body: { $0 }) else { return }
        while let call = await nextCall() {
            await call.exchange.running(in: task) { await call.connection.carryOut(call) }
            if task.isCancelled { return }
        }
    }

    /// Waits for the next call; nil if this task is to end.
    private func nextCall() async -> Call? {
        // Asked only here: on the way to this await others may run.
        await withUnsafeContinuation { continuation in
            if let call = waiting.popFirst() {
                continuation.resume(returning: call)
            } else if isStopping || parked.count >= Self.parkedMax {
                continuation.resume(returning: nil)
            } else {
                parked.append(continuation)
            }
        }
    }
}
