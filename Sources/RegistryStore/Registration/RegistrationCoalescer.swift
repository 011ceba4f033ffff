import EventLoop
import PostgresClient
import PushRegistry

/// Takes registrations one by one and carries them to PostgreSQL many at a time (R2, R15).
///
/// All that arrive during one round trip share the next look-up, which completes those that change nothing. The rest go
/// on to a `WriteCoalescer`. One lives on each event loop.
public actor RegistrationCoalescer {
    /// Registrations that wait for a look-up; more are refused. About a second of work.
    static let waitingMax = 16_384
    /// Registrations in one look-up.
    static let lookUpMax = 512
    /// How long a look-up may take on Citus. Beyond it, the app's node counts as hanging.
    static let lookUpOnCitusTimeout = Duration.seconds(2)

    public nonisolated let loop: EventLoop
    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private struct Arrival: Sendable {
        let pending: PendingRegistration
        let continuation: CheckedContinuation<RegistrationFinding, any Error>
    }

    private let resources: LoopResources
    private let lookUp: RegistrationLookUp
    private let writes: WriteCoalescer<PendingRegistration>
    private let meters = WriteMeters("registration")
    private var arrivals = AppQueue<Arrival>(countMax: waitingMax, batchMax: lookUpMax)
    private var isFinished = false
    private var wake: CheckedContinuation<Void, Never>?

    init(_ resources: LoopResources) {
        (loop, self.resources) = (resources.loop, resources)
        lookUp = RegistrationLookUp(postgres: resources.postgres, clock: resources.clock)
        let writer = RegistrationWriter(
            postgres: resources.postgres, cells: resources.cells, clock: resources.clock)
        writes = WriteCoalescer(resources, meters: meters) { batch, patience in
            try await resources.serving(batch[0].app) { try await writer.write(batch, patience) }
        }
    }

    /// - Throws: `RegistrationRefusal`, `DirectoryChanged`, `StoreError`.
    public func register(
        _ registration: Registration, ifDirectoryIs version: Int64? = nil
    ) async throws -> RegistrationOutcome {
        var pending = PendingRegistration(registration, ifDirectoryIs: version)
        pending.finding = try await find(pending)
        if case .unchanged(let outcome) = pending.finding { return outcome }
        return try await writes.write(pending)
    }

    /// Carries registrations until it is cancelled. Those that wait then are refused.
    public func run() async {
        await withTaskCancellationHandler {
            await withDiscardingTaskGroup { group in
                group.addTask { await self.lookUpArrivals() }
                group.addTask { await self.writes.run() }
            }
        } onCancel: {
            loop.execute { self.assumeIsolated { $0.finish() } }
        }
    }

    private func find(_ pending: PendingRegistration) async throws -> RegistrationFinding {
        try await withCheckedThrowingContinuation { continuation in
            let arrival = Arrival(pending: pending, continuation: continuation)
            guard !isFinished, arrivals.append(arrival, of: pending.app) else {
                meters.refused()
                return continuation.resume(throwing: isFinished ? StoreError.unavailable : StoreError.overloaded)
            }
            resume()
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

    private func lookUpArrivals() async {
        await withDiscardingTaskGroup { group in
            while !isFinished {
                await withCheckedContinuation { continuation in
                    // On the way to this await others may have run.
                    if isFinished || arrivals.isReady { continuation.resume() } else { wake = continuation }
                }
                if resources.postgres.isDistributed {
                    guard let batch = arrivals.takeApp() else { continue }
                    group.addTask(executorPreference: loop) { await self.lookUpApart(batch) }
                } else {
                    let batches = arrivals.takeBatch()
                    if !batches.isEmpty { await complete(batches) }
                }
            }
        }
    }

    /// R2: an unchanged registration needs one read.
    private func complete(_ batches: [(app: AppNumber, items: [Arrival])]) async {
        meters.lookedUp(batches.reduce(0) { $0 + $1.items.count })
        do {
            let findings = try await find(batches)
            for (arrivals, found) in zip(batches, findings) {
                for (arrival, finding) in zip(arrivals.items, found) { arrival.continuation.resume(with: finding) }
            }
        } catch {
            for arrival in batches.lazy.flatMap(\.items) { arrival.continuation.resume(throwing: StoreError(error)) }
        }
    }

    private func find(
        _ batches: [(app: AppNumber, items: [Arrival])], timeout: Duration? = nil
    ) async throws -> [[Result<RegistrationFinding, DirectoryChanged>]] {
        try await lookUp.find(batches.map { ($0.app, $0.items.map(\.pending)) }, timeout: timeout)
    }

    /// On Citus, each app has look-ups of its own, one at a time: apps of other nodes do not wait for a node that hangs
    /// or is away.
    private func lookUpApart(_ batch: (app: AppNumber, items: [Arrival])) async {
        meters.lookedUp(batch.items.count)
        do {
            let findings = try await resources.serving(batch.app) {
                try await find([batch], timeout: Self.lookUpOnCitusTimeout)
            }
            for (arrival, finding) in zip(batch.items, findings[0]) { arrival.continuation.resume(with: finding) }
        } catch {
            // Those that came meanwhile would wait as long again.
            let others = error.isOfHangingNode ? arrivals.removeAll(of: batch.app) : []
            for arrival in batch.items + others { arrival.continuation.resume(throwing: StoreError(error)) }
        }
        arrivals.finish(batch.app)
        resume()
    }
}

/// Writes a batch of registrations, all of one app.
struct RegistrationWriter: Sendable {
    /// How often a batch that lost a race is tried again before its registrations are tried one by one.
    static let batchAttemptsMax = 4
    /// How often one registration is tried. Each lost race is another registration's success, so this is plenty.
    static let singleAttemptsMax = 40

    let postgres: PostgresClient
    let cells: RollUpCells
    let clock: RegistryClock

    /// - Throws: `PostgresError`, `StoreError`: nothing of the rest was written.
    func write(
        _ batch: [PendingRegistration], _ patience: LockPatience
    ) async throws -> [Result<RegistrationOutcome, any Error>] {
        let numbers = try await cells.numbers(of: batch.map(\.registration), postgres)
        var outcomes: [Int: Result<RegistrationOutcome, any Error>] = [:]
        if case .batch = patience {
            outcomes = try await writeOptimistically(batch, numbers).mapValues { .success($0) }
        }
        let left = batch.indices.filter { outcomes[$0] == nil }
        if !left.isEmpty {
            let attemptsMax = left.count > 1 ? Self.batchAttemptsMax : Self.singleAttemptsMax
            var isFirstAttempt = true
            let results = try await postgres.withTransaction(attemptsMax: attemptsMax) { transaction in
                let locked = LockedRegistrations(
                    left.map { batch[$0] }, cells: left.map { numbers[$0] }, clock: clock, patience: patience,
                    isFirstAttempt: isFirstAttempt)
                isFirstAttempt = false
                return try await locked.write(transaction)
            }
            for (index, result) in zip(left, results) { outcomes[index] = result }
        }
        return batch.indices.compactMap { outcomes[$0] }
    }

    /// Nothing is written where one of them lost a race.
    private func writeOptimistically(
        _ batch: [PendingRegistration], _ numbers: [Int64]
    ) async throws -> [Int: RegistrationOutcome] {
        do {
            // A statement whose parts use each other's rows fails on Citus while any node is away.
            if postgres.isDistributed { return try await ChangesOnCitus(batch, cells: numbers).write(postgres) }
            let optimistic = OptimisticRegistrations(batch, cells: numbers)
            return optimistic.isEmpty ? [:] : try await optimistic.write(postgres)
        } catch let error where error.isLostRace {
            return [:]
        }
    }
}
