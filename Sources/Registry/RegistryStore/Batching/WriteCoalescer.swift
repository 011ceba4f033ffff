import EventLoop
import Metrics
import PostgresClient
import PushRegistry
import Synchronization

/// A write that may share a transaction with others of its app.
protocol BatchedWrite: Sendable {
    associatedtype Key: Hashable & Sendable
    associatedtype Outcome: Sendable

    var app: AppNumber { get }
    /// Two writes with the same key are never in one transaction, nor in two at the same time.
    var key: Key { get }
}

/// The key of a write that may share a transaction with any other one.
struct UniqueKey: Hashable, Sendable {
    private static let created = Atomic<Int>(0)

    private let number = Self.created.wrappingAdd(1, ordering: .relaxed).newValue
}

/// How long a transaction may wait for a lock.
enum LockPatience {
    /// A batch: as long as the session's `lock_timeout`. All of its writes wait.
    case batch
    /// A part of a batch that waited too long: just long enough to find out whether one of its items is blocked.
    case probe
    /// One item that waits for another transaction's lock. No other item waits with it.
    case alone
}

/// Sends writes to PostgreSQL in batches: all that arrive during a transaction share a later one. Each event loop has
/// one coalescer for each kind of write.
///
/// An idle loop writes at once. If a transaction takes longer than `patience`, it probably waits for a lock, and a
/// second one starts at the same time. A write that waits for another transaction's lock is set aside: it waits in a
/// separate transaction, and the other writes of the batch do not wait for it. Writes that waited for another one of
/// their key have transactions of their own from the start: other loops and services probably write the same rows.
///
/// After a batch of `restItemsMin` writes or more, the next one waits for a `rest`. Clients that just got their
/// responses send their next requests meanwhile, which share it. Else they would alternate with the others, in twice as
/// many batches of half the size, and a transaction costs as much as several rows.
///
/// On Citus, an app has one transaction at a time, and a short rest after each (`EventLoop.rest(after:)`). An app that
/// writes alone has up to `overlapMax`, because its transactions wait for the nodes most of the time: another one
/// begins when `overlapItemsMin` writes wait, or after `patience`.
actor WriteCoalescer<Write: BatchedWrite> {
    typealias Results = [Result<Write.Outcome, any Error>]
    /// Writes a batch of one app and returns each write's result. An error that it throws concerns the whole batch. If
    /// a write's own result is such an error (`mayBeOneItem`), that write alone is repeated.
    typealias Body = @Sendable (_ batch: [Write], _ patience: LockPatience) async throws -> Results

    /// Writes that wait; more are refused.
    static var waitingMax: Int { 16_384 }
    /// Writes in one transaction: enough to share its cost, few enough to hold their locks for milliseconds.
    static var batchMax: Int { 128 }
    /// How long a write waits for its turn. After this time its client has probably left.
    static var waitMax: Duration { .seconds(10) }
    static var transactionsMax: Int { 2 }
    /// On Citus. Each transaction is of another app (unless one app is alone), so a hanging node blocks only its apps.
    static var transactionsOnCitusMax: Int { 6 }
    static var overlapMax: Int { 3 }
    /// In smaller batches, the price of the statements outweighs the wait.
    static var overlapItemsMin: Int { 16 }
    /// The writes of a batch after which the next one waits: many clients write at the same time, so it will grow.
    static var restItemsMin: Int { 8 }
    /// How long the next batch waits: long enough for most of the clients that just got their responses to send their
    /// next requests, and short beside a transaction. The loop's timers count in milliseconds.
    static var rest: Duration { .milliseconds(1) }
    static var patience: Duration { .milliseconds(25) }
    /// The parts in which a batch is repeated that failed.
    static var partsMax: Int { 8 }

    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// Resumed exactly once: an item is refused or queued, and leaves the queue as expired, at the end, or in a batch.
    /// `write(_:_:)` resumes each item of a batch or returns it as blocked, and `runAlone` resumes that.
    private struct Item: Sendable {
        let write: Write
        let continuation: UnsafeContinuation<Write.Outcome, any Error>
    }

    private let body: Body
    /// The turns of transactions that wait for locks of other transactions.
    private let lone: Turns
    /// The turns of transactions of contended writes.
    private let contended: Turns
    private let meters: WriteMeters
    private let isDistributed: Bool
    private var queue: FairQueue<Write.Key, Item>
    private var isFinished = false
    private var transactionCount = 0
    /// Another transaction may start.
    private var isPatienceOver = false
    /// Only `run()` waits. Nil once it is resumed.
    private var wake: UnsafeContinuation<Void, Never>?

    init(_ resources: LoopResources, meters: WriteMeters, body: @escaping Body) {
        (loop, isDistributed) = (resources.loop, resources.isDistributed)
        (lone, contended) = (resources.lone, resources.contended)
        self.meters = meters
        self.body = { batch, patience in
            try await resources.writes.noting {
                try await resources.serving(batch[0].app) { try await body(batch, patience) }
            }
        }
        queue = FairQueue(
            countMax: Self.waitingMax, batchMax: Self.batchMax, overlapMax: isDistributed ? Self.overlapMax : nil)
    }

    /// Each batch is one transaction, which is tried again if it loses a race.
    init(
        _ resources: LoopResources, meters: WriteMeters, attemptsMax: Int = 20,
        transaction: @escaping @Sendable ([Write], LockPatience, PostgresTransaction) async throws -> Results
    ) {
        self.init(resources, meters: meters) { batch, patience in
            try await resources.postgres.withTransaction(attemptsMax: attemptsMax) {
                try await transaction(batch, patience, $0)
            }
        }
    }

    /// - Throws: the error that `body` returns for the write; `StoreError`.
    func write(_ write: Write) async throws -> Write.Outcome {
        try await withUnsafeThrowingContinuation { continuation in
            let item = Item(write: write, continuation: continuation)
            let isTaken =
                !isFinished
                && queue.append(item, key: write.key, of: write.app, deadline: loop.now + Self.waitMax)
            guard isTaken else {
                meters.refused()
                return continuation.resume(throwing: isFinished ? StoreError.unavailable : StoreError.overloaded)
            }
            resume()
        }
    }

    /// Sends queued writes until it is cancelled. Writes that still wait then are refused.
    func run() async {
        await withTaskCancellationHandler {
            let timer = loop.makeTimer { [weak self] in self?.assumeIsolated { $0.patienceEnded() } }
            await withDiscardingTaskGroup { group in
                while await next() {
                    guard let batch = queue.takeBatch(now: loop.now) else { continue }
                    for item in batch.expired { refuse(item, .overloaded) }
                    if !batch.contended.isEmpty {
                        group.addTask(executorPreference: loop) {
                            await self.runContended(batch.contended, of: batch.app)
                        }
                    }
                    guard !batch.items.isEmpty else {
                        queue.finishBatch(of: batch.app)
                        continue
                    }
                    transactionCount += 1
                    isPatienceOver = false
                    timer.set(after: Self.patience)
                    group.addTask(executorPreference: loop) { await self.runBatch(batch) }
                }
            }
            timer.unset()
        } onCancel: {
            loop.execute { self.assumeIsolated { $0.finish() } }
        }
    }

    private var mayStart: Bool {
        if queue.overlapCount >= (isPatienceOver ? 1 : Self.overlapItemsMin) { return true }
        guard queue.isReady else { return false }
        guard !isDistributed else { return transactionCount < Self.transactionsOnCitusMax }
        return transactionCount == 0 || transactionCount < Self.transactionsMax && isPatienceOver
    }

    /// Waits until a transaction may start. False at the end.
    private func next() async -> Bool {
        while !isFinished, !mayStart {
            await withUnsafeContinuation { continuation in
                // On the way to this await others may have run.
                if isFinished || mayStart { continuation.resume() } else { wake = continuation }
            }
        }
        return !isFinished
    }

    private func resume() {
        guard wake != nil, isFinished || mayStart else { return }
        wake?.resume()
        wake = nil
    }

    private func patienceEnded() {
        isPatienceOver = true
        resume()
    }

    private func finish() {
        isFinished = true
        for item in queue.removeAll() { refuse(item, .unavailable) }
        resume()
    }

    private func refuse(_ item: Item, _ error: StoreError) {
        meters.refused()
        item.continuation.resume(throwing: error)
    }
}

// MARK: - Running a batch

extension WriteCoalescer {
    private func runBatch(_ batch: FairQueue<Write.Key, Item>.Batch) async {
        meters.wrote(batch.items.count)
        let start = loop.now
        let blocked = await write(batch.items.map(\.item))
        finish(batch.items, besides: blocked, of: batch.app)
        if !isDistributed, blocked.isEmpty, batch.items.count >= Self.restItemsMin, queue.mayGrow(batch.app) {
            try? await loop.sleep(for: Self.rest)
        }
        transactionCount -= 1
        resume()
        await withDiscardingTaskGroup { group in
            for item in blocked { group.addTask(executorPreference: self.loop) { await self.runAlone(item) } }
            if isDistributed, !queue.hasFullBatch(of: batch.app) { await loop.rest(after: loop.now - start) }
            queue.finishBatch(of: batch.app)
            resume()
        }
    }

    private func runContended(_ items: [(key: Write.Key, item: Item)], of app: AppNumber) async {
        meters.wrote(items.count)
        let blocked =
            (try? await contended.withTurn(of: app) { await write(items.map(\.item), .probe) })
            ?? items.map(\.item)
        finish(items, besides: blocked, of: app)
        resume()
        await withDiscardingTaskGroup { group in
            for item in blocked { group.addTask(executorPreference: self.loop) { await self.runAlone(item) } }
        }
    }

    /// Frees the keys of items that have their outcomes.
    private func finish(_ items: [(key: Write.Key, item: Item)], besides blocked: [Item], of app: AppNumber) {
        let waiting = Set(blocked.map(\.write.key))
        queue.finish(items.lazy.map(\.key).filter { !waiting.contains($0) }, of: app)
    }

    /// - Returns: the items that another transaction's lock blocks; the others have their outcomes.
    private func write(_ items: [Item], _ patience: LockPatience = .batch) async -> [Item] {
        do {
            let results = try await body(items.map(\.write), patience)
            assert(results.count == items.count, "each write has one result")
            var left: [Item] = []
            for (item, result) in zip(items, results) {
                if items.count > 1, case .failure(let error) = result, error.mayBeOneItem {
                    left.append(item)
                } else {
                    item.continuation.resume(with: result)
                }
            }
            return left.isEmpty ? [] : await repeatInParts(left, patience)
        } catch let error where items.count > 1 && error.mayBeOneItem {
            // An item does not fail because of others in the batch.
            return await repeatInParts(items, patience)
        } catch let error as PostgresError where error.kind == .lockTimeout {
            return items
        } catch {
            for item in items { item.continuation.resume(throwing: StoreError(error)) }
            return []
        }
    }

    private func repeatInParts(_ items: [Item], _ patience: LockPatience) async -> [Item] {
        if case .batch = patience { meters.split() }
        return await writeInParts(items)
    }

    /// Most parts succeed at once: usually one item is the cause.
    private func writeInParts(_ items: [Item]) async -> [Item] {
        let size = (items.count + Self.partsMax - 1) / Self.partsMax
        var blocked: [Item] = []
        for start in stride(from: 0, to: items.count, by: size) {
            blocked += await write(Array(items[start..<min(start + size, items.count)]), .probe)
        }
        return blocked
    }

    /// Waits for the lock, and frees the key.
    private func runAlone(_ item: Item) async {
        do {
            let result = try await lone.withTurn(of: item.write.app) { try await body([item.write], .alone) }[0]
            item.continuation.resume(with: result)
        } catch {
            item.continuation.resume(throwing: StoreError(error))
        }
        queue.finish(CollectionOfOne(item.write.key), of: item.write.app)
        resume()
    }
}

/// The metrics of the queues of one kind of write on one loop.
struct WriteMeters: Sendable {
    private let lookUps: Recorder
    private let writes: Recorder
    private let splits: Counter
    private let refusals: Counter

    /// - Parameter kind: `registration`, `logout`.
    init(_ kind: String) {
        lookUps = Recorder(label: "\(kind)_batch_size", dimensions: [("stage", "lookUp")])
        writes = Recorder(label: "\(kind)_batch_size", dimensions: [("stage", "write")])
        splits = Counter(label: "\(kind)_batch_splits_total")
        refusals = Counter(label: "\(kind)_refused_total")
    }

    func lookedUp(_ count: Int) { lookUps.record(count) }
    func wrote(_ count: Int) { writes.record(count) }
    /// A batch is repeated in parts.
    func split() { splits.increment() }
    /// A write found the queue full, or waited too long in it.
    func refused() { refusals.increment() }
}
