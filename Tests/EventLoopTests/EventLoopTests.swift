import Foundation
import Glibc
import Synchronization
import Testing

@testable import EventLoop

/// An actor that runs on a loop.
private actor Resident {
    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    private(set) var calls = 0

    init(_ loop: EventLoop) { self.loop = loop }

    func call() -> Bool {
        calls += 1
        return loop.isCurrent
    }

    func callThrough(_ other: Resident) async -> Bool {
        let before = await other.call()
        let after = await nonisolatedStep(loop)
        return before && after && loop.isCurrent
    }
}

private func nonisolatedStep(_ loop: EventLoop) async -> Bool {
    await Task.yield()
    return loop.isCurrent
}

private final class Reader: ReadinessHandler {
    let onReady: @Sendable (Readiness) -> Void
    init(_ onReady: @escaping @Sendable (Readiness) -> Void) { self.onReady = onReady }
    func descriptorIsReady(_ readiness: Readiness) { onReady(readiness) }
}

/// Runs `body` on the loop and returns its result.
private func onLoop<T: Sendable>(_ loop: EventLoop, _ body: @escaping @Sendable () -> T) async -> T {
    await withCheckedContinuation { continuation in
        loop.execute { continuation.resume(returning: body()) }
    }
}

@Suite("Work that starts on a loop stays on it", .timeLimit(.minutes(5)))
struct EventLoopTests {
    let loop = EventLoop(name: "test")

    @Test func actorsShareTheLoop_whenTheyCallEachOther() async {
        let (first, second) = (Resident(loop), Resident(loop))
        #expect(await first.callThrough(second))
        #expect(await second.calls == 1)
    }

    @Test func immediateTaskRunsInline_whenACallbackStartsItOnItsActor() async {
        let resident = Resident(loop)
        let ran = await onLoop(loop) {
            resident.assumeIsolated { resident in
                Task.immediate { _ = resident.call() }
                return resident.calls
            }
        }
        #expect(ran == 1)
    }

    @Test func taskReturnsToTheLoop_whenResumedFromAnotherThread() async {
        let loop = loop
        let stayed = await Task(executorPreference: loop) {
            await withCheckedContinuation { continuation in
                DispatchQueue.global().async { continuation.resume() }
            }
            return loop.isCurrent
        }.value
        #expect(stayed)
    }

    @Test func timersFire_whileATaskYieldsForEver() async throws {
        let loop = loop
        let yielding = Task(executorPreference: loop) {
            while !Task.isCancelled { await Task.yield() }
        }
        try await loop.sleep(for: .milliseconds(5))
        yielding.cancel()
    }

    @Test func timersFire_whileATaskYieldsAfterMuchWork() async throws {
        let loop = loop
        let turns = Count()
        let working = Task(executorPreference: loop) {
            while !Task.isCancelled {
                let end = ContinuousClock.now + EventLoop.jobTimePerRoundMax
                while ContinuousClock.now < end {}
                turns.increment()
                await Task.yield()
            }
        }
        // The socket's and the timer's callbacks each run after one such turn. With only a limit of the number of jobs
        // they would run after a thousand turns.
        let between = await withCheckedContinuation { continuation in
            loop.execute {
                let before = turns.value
                let timer = loop.makeTimer { continuation.resume(returning: turns.value - before) }
                timer.set(after: .zero)
            }
        }
        #expect(between < 10)
        working.cancel()
        await working.value
    }

    @Test func batchIsInterrupted_whenItsJobsTakeLong() async {
        let loop = loop
        let ran = Count()
        let atTimer = await withCheckedContinuation { continuation in
            loop.execute {
                let timer = loop.makeTimer { continuation.resume(returning: ran.value) }
                timer.set(after: .zero)
                for _ in 0..<100 {
                    loop.execute {
                        let end = ContinuousClock.now + EventLoop.jobTimePerRoundMax
                        while ContinuousClock.now < end {}
                        ran.increment()
                    }
                }
            }
        }
        #expect(atTimer < 10)
    }

    @Test func threadIsNotTheLoops_whenTheLoopHasEnded() async {
        let loop = EventLoop(name: "ended")
        let ended = DispatchSemaphore(value: 0)
        loop.execute { loop.stop() }
        // A thread may get the ended thread's id, and must not be mistaken for it.
        for _ in 0..<200 {
            Thread {
                if loop.isCurrent { Issue.record("another thread is taken for the loop's") }
                ended.signal()
            }.start()
        }
        await blockingWait(for: ended, times: 200)
    }

    private func blockingWait(for semaphore: DispatchSemaphore, times: Int) async {
        await withCheckedContinuation { continuation in
            Thread {
                for _ in 0..<times { semaphore.wait() }
                continuation.resume()
            }.start()
        }
    }

    @Test func sleepEnds_whenItsTaskIsCancelled() async {
        let loop = loop
        let sleeping = Task { try await loop.sleep(for: .seconds(3_600)) }
        sleeping.cancel()
        await #expect(throws: CancellationError.self) { try await sleeping.value }
    }

    @Test func sleepsEndAndTheThreadToo_whenTheLoopStops() async {
        let ended = EventLoop(name: "stops")
        let sleeps = (0..<3).map { _ in
            Task { try await ended.sleep(for: .seconds(3_600)) }
        }
        // A sleep begins on the loop.
        while await onLoop(ended, { ended.sleepers.count }) < sleeps.count { await Task.yield() }
        let begin = ContinuousClock.now
        ended.stop()
        for sleep in sleeps {
            await #expect(throws: CancellationError.self) { try await sleep.value }
        }
        #expect(ContinuousClock.now - begin < .seconds(30))
    }

    @Test func handlerIsCalled_whenItsDescriptorIsReadable() async {
        var ends: [CInt] = [0, 0]
        #expect(pipe(&ends) == 0)
        let (loop, readEnd, writeEnd) = (loop, ends[0], ends[1])
        let readiness: Readiness = await withCheckedContinuation { continuation in
            loop.execute {
                // One event is enough; a level-triggered poller would call the handler again.
                let watch = WatchBox()
                watch.value = loop.watchIfPossible(
                    readEnd, for: .readable,
                    handler: Reader { readiness in
                        loop.unwatch(watch.value!)
                        continuation.resume(returning: readiness)
                    })
                _ = write(writeEnd, "x", 1)
            }
        }
        #expect(readiness.contains(.readable))
        close(readEnd)
        close(writeEnd)
    }

    /// epoll_ctl(2): `EPERM` for a regular file, `EBADF` for no file. Full memory (`ENOMEM`, `ENOSPC`) takes the same
    /// way.
    @Test func watchIsNil_whenTheSystemRefusesTheDescriptor() async {
        let loop = loop
        let file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC)
        let (areRefused, areReleased) = await onLoop(loop) {
            weak var handler: Reader?
            let watches = [file, -1].map { descriptor in
                let reader = Reader { _ in }
                handler = reader
                return loop.watchIfPossible(descriptor, for: .readable, handler: reader)
            }
            return (watches.allSatisfy { $0 == nil }, handler == nil)
        }
        #expect(areRefused && areReleased)
        await handlerIsCalled_whenItsDescriptorIsReadable()
        close(file)
    }

    @Test func inputIsHandled_beforeTheNextRound() async {
        var ends: [CInt] = [0, 0]
        #expect(pipe(&ends) == 0)
        let (loop, readEnd, writeEnd) = (loop, ends[0], ends[1])
        _ = write(writeEnd, "x", 1)
        let handled = Count()
        let handledBefore = await Task(executorPreference: loop) {
            let watch = WatchBox()
            watch.value = loop.watchIfPossible(
                readEnd, for: .readable,
                handler: Reader { _ in
                    loop.unwatch(watch.value!)
                    loop.execute { handled.increment() }
                })
            await loop.nextRound()
            return handled.value
        }.value
        #expect(handledBefore == 1)
        close(readEnd)
        close(writeEnd)
    }

    @Test func roundsGoOn_whileNothingArrives() async {
        let loop = loop
        await Task(executorPreference: loop) {
            for _ in 0..<1_000 { await loop.nextRound() }
        }.value
    }

    @Test func eventIsDropped_whenItsWatchEndedInTheSameRound() {
        var table = WatchTable()
        let old = table.insert(3, Reader { _ in })
        table.remove(old)
        let new = table.insert(3, Reader { _ in })
        #expect(table.handler(for: old.key) == nil)
        #expect(table.handler(for: new.key) != nil)
    }
}

private final class Count: Sendable {
    private let count = Atomic<Int>(0)

    var value: Int { count.load(ordering: .relaxed) }

    func increment() { count.add(1, ordering: .relaxed) }
}

private final class WatchBox: @unchecked Sendable {
    var value: Watch?
}
