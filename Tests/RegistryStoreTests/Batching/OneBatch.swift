import PostgresClient
import PushRegistry

@testable import RegistryStore

typealias Outcome = Result<RegistrationOutcome, any Error>

extension StoreUnderTest {
    /// Writes all of them as one batch, in this order, and returns each one's outcome.
    ///
    /// - Parameter change: what others do between the look-up and the write.
    func writeInOneBatch(
        _ registrations: [Registration], after change: () async throws -> Void = {}
    ) async throws -> [Outcome] {
        let batch = try await find(registrations)
        try await change()
        let writer = RegistrationWriter(postgres: pool, cells: resources.cells, clock: resources.clock)
        return try await writer.write(batch, .batch)
    }

    /// - Returns: by their index in the batch, those that could be written in one trip.
    func writeInOneTrip(_ batch: [PendingRegistration]) async throws -> [Int: RegistrationOutcome] {
        let numbers = try await resources.cells.numbers(of: batch.map(\.registration), pool, .batch)
        return try await OptimisticRegistrations(batch, cells: numbers).write(database)
    }

    /// Lets the rules decide.
    func writeUnderLocks(_ batch: [PendingRegistration]) async throws -> [Outcome] {
        let writer = RegistrationWriter(postgres: pool, cells: resources.cells, clock: resources.clock)
        return try await writer.write(batch, .alone)
    }

    /// Looks up all of them, and returns those that must be written.
    func find(_ registrations: [Registration]) async throws -> [PendingRegistration] {
        let batch = registrations.map { RegistrationLookUp.Item($0) }
        let lookUp = RegistrationLookUp(clock: resources.clock, isDistributed: false)
        let results = try await pool.execute(lookUp.statements(batch[0].app, batch))
        return try zip(batch, lookUp.results(of: batch, in: results)).compactMap { item, found in
            guard case .changed(let pending) = try found.get().decision(about: item.sent) else { return nil }
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

extension StoreUnderTest {
    /// The rows of all tables that a registration writes, without times, and with generations since the beginning of
    /// each installation's life.
    func contents() async throws -> [String] {
        try await strings(
            """
            WITH life AS (SELECT install_id, min(generation_after) AS first FROM token_event GROUP BY install_id)
            SELECT concat_ws(' ', 'installation', to_jsonb(i) - ARRAY['generation', 'registration_generation', 'epoch',
                    'revision', 'created_at', 'registered_at', 'last_seen_at', 'state_changed_at', 'snapshot_at'],
                generation - first, registration_generation - first, epoch - first, state_changed_at > created_at)
            FROM installation i JOIN life USING (install_id)
            UNION ALL
            SELECT 'event ' || concat_ws(' ', e.install_id, event, reason, actor, provider, encode(token_sha256, 'hex'),
                coalesce(user_id, '-'), coalesce(previous_user_id, '-'), state,
                CASE WHEN generation_before = 0 THEN -1 ELSE generation_before - first END, generation_after - first,
                rank() OVER (PARTITION BY token_sha256 ORDER BY id))
            FROM token_event e JOIN life USING (install_id)
            UNION ALL
            SELECT 'holder ' || to_jsonb(h)::text FROM token_holder h
            UNION ALL
            SELECT concat_ws(' ', 'owner', to_jsonb(o) - 'left_at', left_at IS NULL) FROM installation_owner o
            UNION ALL
            SELECT 'delta ' || concat_ws(' ', topic, cell, expires_at, sum(active), sum(installations))
            FROM rollup_delta GROUP BY topic, cell, expires_at
            ORDER BY 1
            """)
    }
}
