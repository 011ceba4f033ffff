import DequeModule
import PushRegistry

/// A queue of reads that share round trips: a value. Apps take turns, so a flood of one app delays only that app.
struct AppQueue<Item: Sendable>: Sendable {
    private let countMax: Int
    private let batchMax: Int
    /// The most items of one app that are taken at once while other apps wait.
    private let shareMax: Int
    private var waiting: [AppNumber: Deque<Item>] = [:]
    private var turns = Deque<AppNumber>()
    /// Apps whose batch of `takeApp` has not finished: their other items wait.
    private var underWay = Set<AppNumber>()
    private(set) var count = 0

    /// - Parameters:
    ///   - countMax: items that may wait; more are refused.
    ///   - batchMax: items in one batch.
    init(countMax: Int, batchMax: Int) {
        (self.countMax, self.batchMax) = (countMax, batchMax)
        shareMax = max(1, batchMax / 8)
    }

    /// Whether a batch can be taken.
    var isReady: Bool { !turns.isEmpty }

    /// - Returns: false if the queue is full.
    mutating func append(_ item: Item, of app: AppNumber) -> Bool {
        guard count < countMax else { return false }
        count += 1
        if waiting[app]?.append(item) == nil {
            waiting[app] = [item]
            if !underWay.contains(app) { turns.append(app) }
        }
        return true
    }

    /// One batch of the next app, whose other items wait until `finish`. Nil if nothing is ready.
    mutating func takeApp() -> (app: AppNumber, items: [Item])? {
        guard let app = turns.popFirst(), var items = waiting.removeValue(forKey: app) else { return nil }
        let taken = Array(items.prefix(batchMax))
        items.removeFirst(taken.count)
        if !items.isEmpty { waiting[app] = items }
        count -= taken.count
        underWay.insert(app)
        return (app, taken)
    }

    /// Ends a batch of `takeApp`.
    mutating func finish(_ app: AppNumber) {
        guard underWay.remove(app) != nil, waiting[app] != nil else { return }
        turns.append(app)
    }

    /// All items of an app whose batch is in progress.
    mutating func removeAll(of app: AppNumber) -> [Item] {
        let items = waiting.removeValue(forKey: app) ?? []
        count -= items.count
        return Array(items)
    }

    /// Up to one batch, by app; each app's items in the order in which they came.
    mutating func takeBatch() -> [(app: AppNumber, items: [Item])] {
        var batch: [(app: AppNumber, items: [Item])] = []
        var room = batchMax
        while room > 0, let app = turns.popFirst(), var items = waiting.removeValue(forKey: app) {
            let taken = items.prefix(turns.isEmpty ? room : min(room, shareMax))
            room -= taken.count
            if let index = batch.firstIndex(where: { $0.app == app }) {
                batch[index].items += taken
            } else {
                batch.append((app, Array(taken)))
            }
            items.removeFirst(taken.count)
            guard !items.isEmpty else { continue }
            waiting[app] = items
            turns.append(app)
        }
        count -= batchMax - room
        return batch
    }

    /// Everything that waits; the queue is empty afterwards.
    mutating func removeAll() -> [Item] {
        defer {
            waiting.removeAll()
            turns.removeAll()
            count = 0
        }
        return waiting.values.flatMap { Array($0) }
    }
}
