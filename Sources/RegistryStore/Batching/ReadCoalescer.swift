import EventLoop
import PostgresClient
import PushRegistry

/// A read that may share a round trip with others.
protocol BatchedRead: Sendable {
    associatedtype Answer: Sendable

    var app: AppNumber { get }
}

/// Carries reads to PostgreSQL many at a time: all that arrive during one round trip share the next. One lives on each
/// event loop for each kind of read.
actor ReadCoalescer<Read: BatchedRead> {
    typealias Results = [Result<Read.Answer, any Error>]
    /// Reads a batch of one app and returns each answer. An error concerns the whole batch.
    typealias Statement = @Sendable (_ app: AppNumber, _ reads: [Read]) -> PostgresStatement
    typealias Decode = @Sendable (_ reads: [Read], _ rows: PostgresResult) throws -> Results

    /// Reads that wait; more are refused. About a second of work.
    static var waitingMax: Int { 16_384 }
    /// Reads in one round trip.
    static var batchMax: Int { 512 }

    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private struct Arrival: Sendable {
        let read: Read
        let continuation: CheckedContinuation<Read.Answer, any Error>
    }

    private let postgres: PostgresClient
    private let meters: WriteMeters
    private let statement: Statement
    private let decode: Decode
    private var arrivals = AppQueue<Arrival>(countMax: waitingMax, batchMax: batchMax)
    private var isFinished = false
    private var wake: CheckedContinuation<Void, Never>?

    init(
        _ postgres: PostgresClient, meters: WriteMeters, statement: @escaping Statement, decode: @escaping Decode
    ) {
        self.postgres = postgres
        self.meters = meters
        self.statement = statement
        self.decode = decode
        loop = postgres.loop
    }

    /// - Throws: what `decode` gives for the read; `StoreError`.
    func answer(_ read: Read) async throws -> Read.Answer {
        try await withCheckedThrowingContinuation { continuation in
            guard !isFinished, arrivals.append(Arrival(read: read, continuation: continuation), of: read.app) else {
                meters.refused()
                return continuation.resume(throwing: isFinished ? StoreError.unavailable : StoreError.overloaded)
            }
            resume()
        }
    }

    /// Carries reads until it is cancelled. Those that wait then are refused.
    func run() async {
        await withTaskCancellationHandler {
            while !isFinished {
                await withCheckedContinuation { continuation in
                    // On the way to this await others may have run.
                    if isFinished || arrivals.count > 0 { continuation.resume() } else { wake = continuation }
                }
                let batches = arrivals.takeBatch()
                guard !batches.isEmpty else { continue }
                meters.lookedUp(batches.reduce(0) { $0 + $1.items.count })
                await complete(batches)
            }
        } onCancel: {
            loop.execute { self.assumeIsolated { $0.finish() } }
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

    /// On Citus, the node of one app may be away: the other apps are then read without it.
    private func complete(_ batches: [(app: AppNumber, items: [Arrival])]) async {
        do {
            let results = try await postgres.execute(batches.map { statement($0.app, $0.items.map(\.read)) })
            let answers = try zip(batches, results).map { try decode($0.items.map(\.read), $1) }
            for (arrival, answer) in zip(batches.lazy.flatMap(\.items), answers.joined()) {
                arrival.continuation.resume(with: answer)
            }
        } catch let error where batches.count > 1 && postgres.isDistributed && error is PostgresError {
            await withDiscardingTaskGroup { group in
                for batch in batches { group.addTask(executorPreference: self.loop) { await self.complete([batch]) } }
            }
        } catch {
            for arrival in batches.lazy.flatMap(\.items) { arrival.continuation.resume(throwing: StoreError(error)) }
        }
    }
}
