import DequeModule
import Foundation

/// What other threads hand to a loop. The one place of a loop that a lock guards.
///
/// `NSLock` rather than `Synchronization.Mutex`: Thread Sanitizer knows a pthread mutex and can hold the loop to it.
final class Inbox: @unchecked Sendable {
    enum Item {
        case job(UnownedJob)
        case body(@Sendable () -> Void)
    }

    private let lock = NSLock()
    private var items: [Item] = []

    /// Whether the loop must be woken: true for the first item since `takeAll`.
    func append(_ item: Item) -> Bool {
        lock.withLock {
            items.append(item)
            return items.count == 1
        }
    }

    /// Moves all items behind what is in `queue`.
    func takeAll(into queue: inout Deque<Item>) {
        lock.withLock {
            queue.append(contentsOf: items)
            items.removeAll(keepingCapacity: items.capacity <= Self.keptCapacityMax)
        }
    }

    /// The room for items that is kept between two bursts.
    private static let keptCapacityMax = 1_024
}
