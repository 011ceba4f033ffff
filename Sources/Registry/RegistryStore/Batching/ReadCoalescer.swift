import EventLoop
import PostgresClient
import PushRegistry

/// A read that may share a round trip with others.
protocol BatchedRead: Sendable {
    associatedtype Finding: Sendable
    typealias Results = [Result<Finding, any Error>]

    var app: AppNumber { get }
    /// The directory's version by which the call was authorized; nil if the directory was read for it.
    var directoryVersion: Int64? { get }

    /// The statement for reads of one app.
    static func statement(for reads: [Self], of app: AppNumber) -> PostgresStatement

    /// Returns each read's finding. An error fails all reads of the batch.
    ///
    /// - Parameter now: PostgreSQL's time, after the statement.
    static func findings(of reads: [Self], in rows: PostgresResult, at now: Timestamp) throws -> Results
}

/// Sends reads to PostgreSQL in batches: all that arrive during one round trip, and right after it, share the next.
/// Each event loop has one coalescer for each kind of read.
actor ReadCoalescer<Read: BatchedRead> {
    /// Reads that wait; more are refused. About a second of work.
    static var waitingMax: Int { 16_384 }
    /// Reads in one round trip.
    static var batchMax: Int { 512 }
    /// Rounds of the loop to wait for further reads between two round trips.
    static var gatheringRoundsMax: Int { 8 }
    /// How long a round trip may take on Citus. Beyond it, the app's node counts as hanging.
    static var timeoutOnCitus: Duration { .seconds(2) }

    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// Resumed exactly once: when it is refused, with its batch's result, or at the end.
    private struct Arrival: Sendable {
        let read: Read
        let continuation: UnsafeContinuation<Read.Finding, any Error>
    }

    private typealias Batch = (app: AppNumber, items: [Arrival])

    private let resources: LoopResources
    private let meters: WriteMeters
    private var arrivals = AppQueue<Arrival>(countMax: waitingMax, batchMax: batchMax)
    private var isFinished = false
    /// Only `run()` waits. Nil once it is resumed.
    private var wake: UnsafeContinuation<Void, Never>?

    init(_ resources: LoopResources, meters: WriteMeters) {
        (loop, self.resources) = (resources.loop, resources)
        self.meters = meters
    }

    /// - Throws: the error that `findings` has for the read; `DirectoryChanged` if the read names another version;
    ///   `StoreError`.
    nonisolated func find(_ read: Read) async throws -> Read.Finding {
        // A handler is on the loop already. Without the check, its task would look for its executor twice.
        guard loop.isCurrent else { return try await findFromAnotherThread(read) }
        return try await withUnsafeThrowingContinuation { continuation in
            assumeIsolated { $0.add(Arrival(read: read, continuation: continuation)) }
        }
    }

    private func findFromAnotherThread(_ read: Read) async throws -> Read.Finding {
        try await withUnsafeThrowingContinuation { add(Arrival(read: read, continuation: $0)) }
    }

    private func add(_ arrival: Arrival) {
        guard !isFinished, arrivals.append(arrival, of: arrival.read.app) else {
            meters.refused()
            return arrival.continuation.resume(throwing: isFinished ? StoreError.unavailable : StoreError.overloaded)
        }
        resume()
    }

    /// Sends queued reads until it is cancelled. Reads that still wait then are refused.
    func run() async {
        await withTaskCancellationHandler {
            await withDiscardingTaskGroup { group in
                while !isFinished {
                    await withUnsafeContinuation { continuation in
                        // On the way to this await others may have run.
                        if isFinished || arrivals.isReady { continuation.resume() } else { wake = continuation }
                    }
                    if resources.isDistributed {
                        guard let batch = arrivals.takeApp() else { continue }
                        group.addTask(executorPreference: loop) { await self.completeApart(batch) }
                    } else {
                        let batches = arrivals.takeBatch()
                        if !batches.isEmpty {
                            await complete(batches)
                            await gather()
                        }
                    }
                }
            }
        } onCancel: {
            loop.execute { self.assumeIsolated { $0.finish() } }
        }
    }

    /// Waits as long as each round of the loop brings more reads. The clients that have just got their responses send
    /// their next ones, which share a round trip with those that are here already: a round trip costs as much as many
    /// reads.
    private func gather() async {
        var count = 0
        for _ in 0..<Self.gatheringRoundsMax {
            await loop.nextRound()
            guard arrivals.count > count else { return }
            count = arrivals.count
        }
    }

    private func finish() {
        isFinished = true
        for arrival in arrivals.removeAll() { arrival.continuation.resume(throwing: StoreError.unavailable) }
        resume()
    }

    private func resume() {
        wake?.resume()
        wake = nil
    }

    private func complete(_ batches: [Batch]) async {
        do {
            for (batch, findings) in zip(batches, try await read(batches)) { resume(batch.items, findings) }
        } catch {
            for batch in batches { refuse(batch.items, error) }
        }
    }

    /// On Citus, each app has round trips of its own, one at a time and with a short rest after each: apps of other
    /// nodes do not wait for a node that hangs or is away.
    private func completeApart(_ batch: Batch) async {
        let start = loop.now
        do {
            let findings = try await resources.serving(batch.app) {
                try await read([batch], timeout: Self.timeoutOnCitus)
            }
            resume(batch.items, findings[0])
        } catch {
            // Those that came meanwhile would wait as long again.
            let others = error.isOfHangingNode ? arrivals.removeAll(of: batch.app) : []
            refuse(batch.items + others, error)
        }
        await loop.rest(after: loop.now - start)
        arrivals.finish(batch.app)
        resume()
    }

    private func read(_ batches: [Batch], timeout: Duration? = nil) async throws -> [Read.Results] {
        meters.lookedUp(batches.reduce(0) { $0 + $1.items.count })
        let reads = batches.map { $0.items.map(\.read) }
        let statements = zip(batches, reads).map { Read.statement(for: $1, of: $0.app) }
        let results = try await resources.postgres.read(statements + [DirectoryStatements.moment()], timeout: timeout)
        let moment = try results[statements.count][0]
        let version: Int64 = try moment.decode(0)
        let now = try moment.decode(1, as: Timestamp.self)
        return try zip(reads, results).map { reads, rows in
            zip(reads, try Read.findings(of: reads, in: rows, at: now)).map { read, finding in
                read.directoryVersion ?? version == version ? finding : .failure(DirectoryChanged())
            }
        }
    }

    private func resume(_ arrivals: [Arrival], _ findings: Read.Results) {
        assert(findings.count == arrivals.count, "each read has one finding")
        for (arrival, finding) in zip(arrivals, findings) { arrival.continuation.resume(with: finding) }
    }

    private func refuse(_ arrivals: [Arrival], _ error: any Error) {
        for arrival in arrivals { arrival.continuation.resume(throwing: StoreError(error)) }
    }
}

extension EventLoop {
    /// Waits before an app's next statements on Citus, where they cost nearly the same for one item as for many: for
    /// half of the time that the last ones took, and at most 50 ms. Clients that just got their responses may send
    /// their next requests meanwhile, which share the next statements. Else these clients would alternate with the
    /// others, in twice as many batches of half the size.
    ///
    /// Returns at once if the task is cancelled.
    func rest(after duration: Duration) async {
        try? await sleep(for: min(duration / 2, .milliseconds(50)))
    }
}
