import Basics
import Dispatch
import Testing

@Suite("One thread at a time uses a locked value")
struct LockedTests {
    @Test func everyChangeIsKept_whenManyThreadsChangeTheValue() {
        let (threads, rounds) = (8, 10_000)
        let locked = Locked((count: 0, isInUse: false, overlaps: 0))
        DispatchQueue.concurrentPerform(iterations: threads) { _ in
            for _ in 0..<rounds {
                locked.withLock { value in
                    if value.isInUse { value.overlaps += 1 }
                    value.isInUse = true
                    value.count += 1
                    value.isInUse = false
                }
            }
        }
        let end = locked.withLock { $0 }
        #expect(end.count == threads * rounds && end.overlaps == 0)
    }

    @Test func lockIsFree_afterTheBodyThrewATypedError() {
        let locked = Locked([1])
        do throws(Refusal) {
            try locked.withLock { numbers throws(Refusal) in
                numbers.append(2)
                throw Refusal(reason: "full")
            }
            Issue.record("the error was lost")
        } catch {
            #expect(error.reason == "full")
        }
        #expect(locked.withLock { $0 } == [1, 2])
    }

    @Test func valueIsReleasedOnce_withItsLock() {
        let releases = Locked(0)
        func makeAndDrop() {
            let locked = Locked(Owner { releases.withLock { $0 += 1 } })
            locked.withLock { $0.use() }
        }
        makeAndDrop()
        #expect(releases.withLock { $0 } == 1)
    }

    private struct Refusal: Error {
        let reason: String
    }

    /// A value that cannot be copied. It reports its end.
    private struct Owner: ~Copyable {
        let onEnd: @Sendable () -> Void

        init(onEnd: @escaping @Sendable () -> Void) { self.onEnd = onEnd }

        func use() {}

        deinit { onEnd() }
    }
}
