import PushRegistry
import Synchronization

@testable import RegistryStore

typealias Outcome = Result<RegistrationOutcome, any Error>

extension StoreUnderTest {
    /// Writes all of them as one batch, in this order, and gives each one's answer.
    func writeInOneBatch(_ registrations: [Registration]) async throws -> [Outcome] {
        let gathering = Gathering()
        return try await withThrowingTaskGroup(of: (Int, Outcome).self) { group in
            for (index, registration) in registrations.enumerated() {
                group.addTask { (index, await gathering.answer(to: registration, index)) }
            }
            try await eventually { gathering.count == registrations.count }
            await RegistrationTransactions(postgres: pool, meters: StoreMeters()).write(gathering.batch)
            var outcomes: [Int: Outcome] = [:]
            for try await (index, outcome) in group { outcomes[index] = outcome }
            return registrations.indices.compactMap { outcomes[$0] }
        }
    }
}

/// Registrations that wait until all of their batch are there.
private final class Gathering: Sendable {
    private let pending = Mutex<[Int: PendingRegistration]>([:])

    var count: Int { pending.withLock { $0.count } }

    var batch: [PendingRegistration] {
        pending.withLock { pending in pending.sorted { $0.key < $1.key }.map(\.value) }
    }

    func answer(to registration: Registration, _ index: Int) async -> Outcome {
        do {
            return .success(
                try await withCheckedThrowingContinuation { continuation in
                    let new = PendingRegistration(registration, continuation)
                    pending.withLock { $0[index] = new }
                })
        } catch {
            return .failure(error)
        }
    }
}

extension Outcome {
    var status: RegistrationOutcome.Status? { try? get().status }
}
