import Basics
import DequeModule

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
