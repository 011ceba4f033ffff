import Basics
import DequeModule

/// A descriptor in a loop's epoll set, as `EventLoop.watch` returned it.
public struct Watch: Sendable {
    /// Not owned: `unwatch` does not close it.
    public let descriptor: CInt
    let key: UInt64
}

/// The handlers of the watched descriptors, by key.
///
/// A key is a slot's index and its generation: an old event is dropped even if the slot or the descriptor number was
/// reused.
struct WatchTable {
    private struct Slot {
        var generation: UInt32 = 0
        var handler: (any ReadinessHandler)?
    }

    private var slots: [Slot] = []
    private var free: [Int] = []

    mutating func insert(_ descriptor: CInt, _ handler: any ReadinessHandler) -> Watch {
        let index = free.popLast() ?? appendSlot()
        slots[index].generation &+= 1
        slots[index].handler = handler
        return Watch(descriptor: descriptor, key: UInt64(slots[index].generation) << 32 | UInt64(index))
    }

    mutating func remove(_ watch: Watch) {
        let index = Int(watch.key & 0xFFFF_FFFF)
        guard handler(for: watch.key) != nil else { return }
        slots[index].handler = nil
        free.append(index)
    }

    func handler(for key: UInt64) -> (any ReadinessHandler)? {
        let slot = slots[Int(key & 0xFFFF_FFFF)]
        return slot.generation == UInt32(key >> 32) ? slot.handler : nil
    }

    private mutating func appendSlot() -> Int {
        slots.append(Slot())
        return slots.count - 1
    }
}

/// Items from other threads for a loop. The only part of a loop that needs a lock.
final class Inbox: Sendable {
    enum Item {
        case job(UnownedJob)
        case body(@Sendable () -> Void)
    }

    private let items = Locked<[Item]>([])

    /// - Returns: whether the loop must be woken: true for the first item since `moveAll`.
    func append(_ item: Item) -> Bool {
        items.withLock { items in
            items.append(item)
            return items.count == 1
        }
    }

    /// Appends all items to `queue`, and removes them here.
    func moveAll(to queue: inout Deque<Item>) {
        items.withLock { items in
            queue.append(contentsOf: items)
            items.removeAll(keepingCapacity: items.capacity <= Self.keptCapacityMax)
        }
    }

    /// The largest capacity of `items` that is kept after a burst.
    private static let keptCapacityMax = 1_024
}
