import PostgresClient
import PushRegistry

/// Takes registrations one by one and sends them to PostgreSQL in batches (R2, R15): one read completes those that
/// change nothing, and the others are written. Each event loop has one coalescer.
struct RegistrationCoalescer: Sendable {
    private let lookUps: ReadCoalescer<PendingRegistration>
    private let writes: WriteCoalescer<PendingRegistration>

    init(_ resources: LoopResources) {
        let lookUp = RegistrationLookUp(clock: resources.clock, isDistributed: resources.postgres.isDistributed)
        let meters = WriteMeters("registration")
        lookUps = ReadCoalescer(
            resources, meters: meters, statements: lookUp.statements, decode: lookUp.findings(of:in:))
        let writer = RegistrationWriter(
            postgres: resources.postgres, cells: resources.cells, clock: resources.clock)
        writes = WriteCoalescer(resources, meters: meters) { batch, patience in
            try await resources.serving(batch[0].app) { try await writer.write(batch, patience) }
        }
    }

    /// - Throws: `RegistrationRefusal`, `DirectoryChanged`, `StoreError`.
    func register(
        _ registration: Registration, ifDirectoryIs version: Int64? = nil
    ) async throws -> RegistrationOutcome {
        var pending = PendingRegistration(registration, ifDirectoryIs: version)
        pending.finding = try await lookUps.find(pending)
        if case .unchanged(let outcome) = pending.finding { return outcome }
        return try await writes.write(pending)
    }

    /// Sends queued registrations until it is cancelled. Registrations that still wait then are refused.
    func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await lookUps.run() }
            group.addTask { await writes.run() }
        }
    }
}

extension PendingRegistration: BatchedRead {
    typealias Finding = RegistrationFinding
}

/// Writes a batch of registrations, all of one app.
struct RegistrationWriter: Sendable {
    /// How often a batch that lost a race is tried again before its registrations are tried one by one.
    static let batchAttemptsMax = 4
    /// How often one registration is tried. Each lost race is the success of another registration, so this suffices.
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
            outcomes = try await writeOptimistically(batch, numbers)
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

    /// - Returns: results by their index in the batch.
    private func writeOptimistically(
        _ batch: [PendingRegistration], _ numbers: [Int64]
    ) async throws -> [Int: Result<RegistrationOutcome, any Error>] {
        guard postgres.isDistributed else {
            let optimistic = OptimisticRegistrations(batch, cells: numbers)
            guard !optimistic.isEmpty else { return [:] }
            return try await unlessRaceIsLost { try await optimistic.write(postgres).mapValues { .success($0) } }
        }
        // A statement whose parts use each other's rows fails on Citus while any node is away.
        let changed: [Int: Result<RegistrationOutcome, any Error>] = try await unlessRaceIsLost {
            try await ChangesOnCitus(batch, cells: numbers).write(postgres).mapValues { .success($0) }
        }
        let created = try await unlessRaceIsLost {
            try await NewRegistrations(batch, cells: numbers, clock: clock).write(postgres)
        }
        return changed.merging(created) { $1 }
    }

    /// - Returns: nothing if a race was lost; then nothing was written.
    private func unlessRaceIsLost(
        _ write: () async throws -> [Int: Result<RegistrationOutcome, any Error>]
    ) async throws -> [Int: Result<RegistrationOutcome, any Error>] {
        do {
            return try await write()
        } catch let error where error.isLostRace {
            return [:]
        }
    }
}
