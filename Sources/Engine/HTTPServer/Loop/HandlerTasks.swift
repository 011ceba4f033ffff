import DequeModule
import EventLoop
import HTTPApplication

/// The tasks that run the handlers of one loop. They are children of the task that calls ``run()``, which returns when
/// the last of them has ended.
///
/// A task serves one call after another, because creating a task costs more than the rest of a small request. A
/// cancelled task ends with its call. Used on its loop only.
final class HandlerTasks: @unchecked Sendable {
    /// A request to handle, or to admit.
    struct Call {
        let connection: HTTPConnection
        let exchange: Exchange
        /// The body; nil if the route only checks the head.
        let content: RequestContent?
    }

    /// Idle tasks to keep, at about a kilobyte each; beyond, a task ends after its call.
    static let parkedMax = 256

    /// The actor on which handlers run: calling another actor of the loop then needs no switch of executors. The tasks
    /// also prefer the loop as executor: without that, a resumed task would run on the global executor first, and then
    /// move to the loop.
    private actor HandlerActor {
        nonisolated let loop: EventLoop
        nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

        init(loop: EventLoop) { self.loop = loop }
    }

    private let handlerActor: HandlerActor
    private var parked: [UnsafeContinuation<Call?, Never>] = []
    /// Calls without a task. Each connection has at most one.
    private var waiting: Deque<Call> = []
    /// Tasks that were created and have not started.
    private var starting = 0
    private var spawner: UnsafeContinuation<Void, Never>?
    private var isStopping = false

    init(loop: EventLoop) {
        handlerActor = HandlerActor(loop: loop)
    }

    /// Starts the call in a task, soon.
    func start(_ call: Call) {
        if let task = parked.popLast() { return task.resume(returning: call) }
        waiting.append(call)
        if waiting.count > starting { wakeSpawner() }
    }

    /// Owns the tasks. Returns after `stop()`, when the last call has ended. Call it on the loop.
    ///
    /// Cancelling the calling task would cancel all handlers.
    func run() async {
        await withDiscardingTaskGroup { group in
            while await isTaskMissing() {
                starting += 1
                group.addTask(executorPreference: handlerActor.loop) { [handlerActor] in
                    await self.work(on: handlerActor)
                }
            }
        }
    }

    /// Ends the tasks: no further call comes.
    func stop() {
        isStopping = true
        wakeSpawner()
        for task in parked { task.resume(returning: nil) }
        parked = []
    }

    /// Waits until there are more calls than tasks for them; false once no further call comes.
    private func isTaskMissing() async -> Bool {
        while waiting.count <= starting, !isStopping {
            await withUnsafeContinuation { continuation in
                // Other tasks may have run between the check and this point, so the condition is checked again.
                if waiting.count > starting || isStopping { continuation.resume() } else { spawner = continuation }
            }
        }
        return waiting.count > starting
    }

    private func wakeSpawner() {
        spawner?.resume()
        spawner = nil
    }

    private func work(on handlerActor: isolated HandlerActor) async {
        starting -= 1
        guard let task = withUnsafeCurrentTask(body: { $0 }) else { return }
        while let call = await nextCall() {
            call.connection.task = task
            await call.connection.perform(call)
            if call.connection.task == task { call.connection.task = nil }
            if task.isCancelled { return }
        }
    }

    /// Waits for the next call; nil if this task must end.
    private func nextCall() async -> Call? {
        // Other tasks may run before this closure does, so the condition is checked only here.
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
