import DequeModule
import EventLoop
import PushRegistry

/// The exports that may run at once on one loop. If no slot is free, an export waits for a while: most exports are
/// short.
actor ExportSlots {
    /// More are refused at once.
    static let waitersMax = 64
    static let waitTimeout = Duration.seconds(2)

    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private struct Waiter {
        let number: Int
        let timer: LoopTimer
        let continuation: CheckedContinuation<Slot?, Never>
    }

    private var free: Int
    private var waiters: Deque<Waiter> = []
    private var numbers = 0

    init(countMax: Int, on loop: EventLoop) {
        free = countMax
        self.loop = loop
    }

    /// - Throws: `StoreError.overloaded`.
    func acquire() async throws(StoreError) -> Slot {
        guard waiters.count < Self.waitersMax, let slot = await slot() else { throw .overloaded }
        return slot
    }

    private func slot() async -> Slot? {
        await withCheckedContinuation { continuation in
            guard free == 0 else {
                free -= 1
                return continuation.resume(returning: Slot(of: self))
            }
            numbers += 1
            let number = numbers
            let timer = loop.makeTimer { self.assumeIsolated { $0.giveUp(number) } }
            timer.set(after: Self.waitTimeout)
            waiters.append(Waiter(number: number, timer: timer, continuation: continuation))
        }
    }

    private func giveUp(_ number: Int) {
        guard let index = waiters.firstIndex(where: { $0.number == number }) else { return }
        waiters.remove(at: index).continuation.resume(returning: nil)
    }

    private func release() {
        guard let waiter = waiters.popFirst() else {
            free += 1
            return
        }
        waiter.timer.unset()
        waiter.continuation.resume(returning: Slot(of: self))
    }

    /// Frees the slot when its last reference is gone, however the response ended.
    final class Slot: Sendable {
        private let slots: ExportSlots

        fileprivate init(of slots: ExportSlots) {
            self.slots = slots
        }

        deinit {
            let slots = slots
            slots.loop.execute { slots.assumeIsolated { $0.release() } }
        }
    }
}
