import DequeModule
import PushRegistry

/// A fair queue of items that share transactions: a value without a clock or a continuation.
///
/// - A batch is of one app, and apps take turns: a flood of one app delays only that app.
/// - A batch has each key once. Further items of a key in a running batch wait in a separate queue and delay no other
///   key; the items of a key are served in their order.
/// - An item that had to wait for an earlier one of its key is *contended*: other loops and services probably write the
///   same rows. A batch returns it separately, so that the others do not wait for its locks.
/// - An item whose deadline has passed is returned as expired: its caller does not wait any more.
struct FairQueue<Key: Hashable & Sendable, Item: Sendable>: Sendable {
    typealias Instant = ContinuousClock.Instant

    struct Batch: Sendable {
        let app: AppNumber
        var items: [(key: Key, item: Item)] = []
        var contended: [(key: Key, item: Item)] = []
        var expired: [Item] = []
    }

    private struct Waiting {
        let item: Item
        let deadline: Instant
    }

    /// The waiting items of one key. The key is in `ready` of its app, or in a running batch.
    private struct Lane {
        var items = Deque<Waiting>()
        var isUnderWay = false
        /// The items waited for another one of the key.
        var isContended = false
    }

    private struct LaneID: Hashable {
        let app: AppNumber
        let key: Key
    }

    private let countMax: Int
    private let batchMax: Int
    private let overlapMax: Int?
    private var lanes: [LaneID: Lane] = [:]
    private var ready: [AppNumber: Deque<Key>] = [:]
    private var turns = Deque<AppNumber>()
    /// The number of batches under way of each app, if that keeps others of the app waiting.
    private var busy: [AppNumber: Int] = [:]
    /// Items that wait.
    private(set) var count = 0

    /// - Parameters:
    ///   - countMax: items that may wait; more are refused.
    ///   - batchMax: items in one batch.
    ///   - overlapMax: if it is set, an app has one batch under way at a time, until `finishBatch`; up to so many if it
    ///     is the only one.
    init(countMax: Int, batchMax: Int, overlapMax: Int? = nil) {
        self.countMax = countMax
        self.batchMax = batchMax
        self.overlapMax = overlapMax
    }

    /// Whether a batch can be taken.
    var isReady: Bool { !turns.isEmpty }

    /// The only app that is busy, if another of its batches can be taken beside those under way.
    private var overlap: AppNumber? {
        guard busy.count == 1, let (app, count) = busy.first, count < overlapMax ?? 1, ready[app] != nil
        else { return nil }
        return app
    }

    /// The number of items that can be taken beside the batches of the only busy app.
    var overlapCount: Int { overlap.flatMap { ready[$0]?.count } ?? 0 }

    /// - Returns: false if the queue is full.
    mutating func append(_ item: Item, key: Key, of app: AppNumber, deadline: Instant) -> Bool {
        guard count < countMax else { return false }
        count += 1
        let id = LaneID(app: app, key: key)
        let isFirst = lanes[id] == nil
        lanes[id, default: Lane()].items.append(Waiting(item: item, deadline: deadline))
        if isFirst { makeReady(id) }
        return true
    }

    /// The next app's batch; its keys are under way until `finish`. Nil if nothing is ready.
    mutating func takeBatch(now: Instant) -> Batch? {
        guard let app = turns.popFirst() ?? overlap, var keys = ready.removeValue(forKey: app) else { return nil }
        var batch = Batch(app: app)
        while batch.items.count + batch.contended.count < batchMax, let key = keys.popFirst() {
            take(key, into: &batch, now)
        }
        if overlapMax != nil { busy[app, default: 0] += 1 }
        if !keys.isEmpty {
            ready[app] = keys
            if overlapMax == nil { turns.append(app) }
        }
        return batch
    }

    /// Whether the app's next batch would have as many items as a batch may have.
    func hasFullBatch(of app: AppNumber) -> Bool { ready[app].map { $0.count >= batchMax } ?? false }

    /// Whether the next batch grows if it waits: no other app waits, and the app's batch is not full.
    func mayGrow(_ app: AppNumber) -> Bool { turns.allSatisfy { $0 == app } && !hasFullBatch(of: app) }

    /// Another batch of the app may be taken.
    mutating func finishBatch(of app: AppNumber) {
        guard let count = busy.removeValue(forKey: app) else { return }
        if count > 1 { busy[app] = count - 1 } else if ready[app] != nil { turns.append(app) }
    }

    /// Ends a batch: the keys' next items may be taken.
    mutating func finish(_ keys: some Sequence<Key>, of app: AppNumber) {
        for key in keys {
            let id = LaneID(app: app, key: key)
            guard lanes[id]?.isUnderWay == true else { continue }
            lanes[id]?.isUnderWay = false
            lanes[id]?.isContended = true
            if lanes[id]?.items.isEmpty == true { lanes[id] = nil } else { makeReady(id) }
        }
    }

    /// Everything that waits; the queue is empty afterwards.
    mutating func removeAll() -> [Item] {
        defer {
            lanes.removeAll()
            ready.removeAll()
            turns.removeAll()
            count = 0
        }
        return lanes.values.flatMap { $0.items.map(\.item) }
    }

    private mutating func makeReady(_ id: LaneID) {
        if ready[id.app] == nil, busy[id.app] == nil { turns.append(id.app) }
        ready[id.app, default: []].append(id.key)
    }

    private mutating func take(_ key: Key, into batch: inout Batch, _ now: Instant) {
        let id = LaneID(app: batch.app, key: key)
        while let waiting = lanes[id]?.items.popFirst() {
            count -= 1
            guard waiting.deadline > now else {
                batch.expired.append(waiting.item)
                continue
            }
            lanes[id]?.isUnderWay = true
            if lanes[id]?.isContended == true {
                batch.contended.append((key, waiting.item))
            } else {
                batch.items.append((key, waiting.item))
            }
            return
        }
        lanes[id] = nil
    }
}
