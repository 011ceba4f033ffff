import DequeModule
import Foundation

/// Items from other threads for a loop. The only part of a loop that needs a lock.
///
/// `NSLock` rather than `Synchronization.Mutex`, because Thread Sanitizer understands a pthread mutex.
final class Inbox: @unchecked Sendable {
    enum Item {
        case job(UnownedJob)
        case body(@Sendable () -> Void)
    }

    private let lock = NSLock()
    private var items: [Item] = []

    /// - Returns: whether the loop must be woken: true for the first item since `moveAll`.
    func append(_ item: Item) -> Bool {
        lock.withLock {
            items.append(item)
            return items.count == 1
        }
    }

    /// Appends all items to `queue`, and removes them here.
    func moveAll(to queue: inout Deque<Item>) {
        lock.withLock {
            queue.append(contentsOf: items)
            items.removeAll(keepingCapacity: items.capacity <= Self.keptCapacityMax)
        }
    }

    /// The largest capacity of `items` that is kept after a burst.
    private static let keptCapacityMax = 1_024
}
