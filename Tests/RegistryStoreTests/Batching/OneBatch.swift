import PostgresClient
import PushRegistry

@testable import RegistryStore

typealias Outcome = Result<RegistrationOutcome, any Error>

extension StoreUnderTest {
    /// Writes all of them as one batch, in this order, and returns each one's outcome.
    ///
    /// - Parameters:
    ///   - patience: for locks of others.
    ///   - change: what others do between the reads and the write.
    func writeInOneBatch(
        _ registrations: [Registration], _ patience: LockPatience = .batch, after change: () async throws -> Void = {}
    ) async throws -> [Outcome] {
        let writer = RegistrationWriter(postgres: pool, cells: resources.cells)
        let batch = try await writer.lookingForTokens(find(registrations))
        try await change()
        return try await writer.write(batch, patience)
    }

    /// Looks up all of them, and returns those that must be written.
    func find(_ registrations: [Registration]) async throws -> [PendingRegistration] {
        let batch = registrations.map { RegistrationLookUp($0) }
        let rows = try await pool.execute(RegistrationLookUp.statement(for: batch, of: batch[0].app))
        let findings = try RegistrationLookUp.findings(of: batch, in: rows, at: .now())
        return try zip(batch, findings).compactMap { lookUp, found in
            guard case .changed(let pending) = try found.get().decision(about: lookUp.sent) else { return nil }
            return pending
        }
    }
}

extension StoreUnderTest {
    /// Registers all of them at the same time, and returns each one's outcome.
    func registerTogether(_ registrations: [Registration]) async throws -> [Outcome] {
        await withTaskGroup(of: (Int, Outcome).self) { group in
            for (index, registration) in registrations.enumerated() {
                group.addTask { (index, await Outcome { try await register(registration) }) }
            }
            let outcomes = await group.reduce(into: [Int: Outcome]()) { $0[$1.0] = $1.1 }
            return registrations.indices.compactMap { outcomes[$0] }
        }
    }
}

extension Outcome {
    fileprivate init(_ body: () async throws -> RegistrationOutcome) async where Failure == any Error {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}

extension Outcome {
    var status: RegistrationOutcome.Status? { try? get().status }
}
