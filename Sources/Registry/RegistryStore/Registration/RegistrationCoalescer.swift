import PostgresClient
import PushRegistry

/// Takes registrations one by one and sends them to PostgreSQL in batches (R2, R15): one read completes those that
/// change nothing, and the others are written. Each event loop has one coalescer.
struct RegistrationCoalescer: Sendable {
    private let lookUps: ReadCoalescer<RegistrationLookUp>
    private let writes: WriteCoalescer<PendingRegistration>

    init(_ resources: LoopResources) {
        let meters = WriteMeters("registration")
        lookUps = ReadCoalescer(resources, meters: meters)
        let writer = RegistrationWriter(postgres: resources.postgres, cells: resources.cells)
        writes = WriteCoalescer(resources, meters: meters) { batch, patience in
            try await writer.write(try await writer.lookingForTokens(batch), patience)
        }
    }

    /// - Throws: `RegistrationRefusal`, `DirectoryChanged`, `StoreError`; the faults of the registration's bytes.
    func register(_ sent: SentRegistration, ifDirectoryIs version: Int64? = nil) async throws -> RegistrationOutcome {
        let found = try await lookUps.find(RegistrationLookUp(sent: sent, directoryVersion: version))
        switch try found.decision(about: sent) {
        case .unchanged(let outcome): return outcome
        case .changed(let pending): return try await writes.write(pending)
        }
    }

    /// Sends queued registrations until it is cancelled. Registrations that still wait then are refused.
    func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await lookUps.run() }
            group.addTask { await writes.run() }
        }
    }
}

/// Writes a batch of registrations, all of one app.
struct RegistrationWriter: Sendable {
    /// How often a batch that lost a race is tried again before it is repeated in parts.
    static let batchAttemptsMax = 4
    /// How often one registration is tried. Each lost race is the success of another registration, so this suffices.
    static let singleAttemptsMax = 40

    let postgres: PostgresClient
    let cells: RollUpCells

    /// Looks for the tokens of new installations: one that was here before has a row, which must be locked.
    func lookingForTokens(_ batch: [PendingRegistration]) async throws -> [PendingRegistration] {
        let new = batch.filter { if case .absent = $0.finding { true } else { false } }
        guard !new.isEmpty else { return batch }
        let app = batch[0].app
        let rows = try await postgres.read(HolderStatements.find(new.map(\.registration.address), in: app))
        let known = try HolderStatements.holders(rows, in: app)
        return batch.map { pending in
            var pending = pending
            if case .absent = pending.finding, known.keys.contains(pending.registration.address) {
                pending.finding = .claimed
            }
            return pending
        }
    }

    /// - Parameter batch: of ``lookingForTokens(_:)``.
    /// - Returns: results in the order of the batch. If only a part was written, the others have the error that kept
    ///   them from being written.
    /// - Throws: `PostgresError`, `StoreError`: nothing was written.
    func write(
        _ batch: [PendingRegistration], _ patience: LockPatience
    ) async throws -> [Result<RegistrationOutcome, any Error>] {
        let numbers = try await cells.numbers(of: batch.map(\.registration), postgres, patience)
        var outcomes: [Int: Result<RegistrationOutcome, any Error>] = [:]
        let changed = ChangedRegistrations(batch, cells: numbers)
        if case .batch = patience, !changed.isEmpty {
            do {
                outcomes = try await changed.write(postgres).mapValues { .success($0) }
            } catch let error where error.isLostRace {
                // Nothing was written. The rules decide about all of them.
            }
        }
        let left = batch.indices.filter { outcomes[$0] == nil }
        guard !left.isEmpty else { return batch.indices.compactMap { outcomes[$0] } }
        do {
            let results = try await writeLocked(left.map { batch[$0] }, left.map { numbers[$0] }, patience)
            for (index, result) in zip(left, results) { outcomes[index] = result }
        } catch let error where !outcomes.isEmpty {
            let error = error.mayBeOneItem ? error : StoreError(error)
            for index in left { outcomes[index] = .failure(error) }
        }
        return batch.indices.compactMap { outcomes[$0] }
    }

    private func writeLocked(
        _ batch: [PendingRegistration], _ numbers: [Int64], _ patience: LockPatience
    ) async throws -> [Result<RegistrationOutcome, any Error>] {
        let attemptsMax = batch.count > 1 ? Self.batchAttemptsMax : Self.singleAttemptsMax
        var isFirstAttempt = true
        return try await postgres.withTransaction(attemptsMax: attemptsMax) { transaction in
            let locked = LockedRegistrations(
                batch, cells: numbers, patience: patience, isFirstAttempt: isFirstAttempt)
            isFirstAttempt = false
            return try await locked.write(transaction)
        }
    }
}
