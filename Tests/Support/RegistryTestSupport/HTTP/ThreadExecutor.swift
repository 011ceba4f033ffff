import Foundation

/// A thread for an actor with blocking calls, so that a client that waits for a response blocks no other task.
final class ThreadExecutor: SerialExecutor, @unchecked Sendable {
    private let condition = NSCondition()
    private var jobs: [UnownedJob] = []
    private var isStopped = false

    init() {
        let thread = Thread { [self] in run() }
        thread.stackSize = 512 * 1024
        thread.start()
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        condition.withLock { jobs.append(job) }
        condition.signal()
    }

    /// Ends the thread after its remaining jobs.
    func stop() {
        condition.withLock { isStopped = true }
        condition.signal()
    }

    private func run() {
        while let next = take() {
            for job in next { job.runSynchronously(on: asUnownedSerialExecutor()) }
        }
    }

    private func take() -> [UnownedJob]? {
        condition.withLock {
            while jobs.isEmpty, !isStopped { condition.wait() }
            defer { jobs = [] }
            return jobs.isEmpty ? nil : jobs
        }
    }
}
