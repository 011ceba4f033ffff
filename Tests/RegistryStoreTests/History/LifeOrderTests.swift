import Basics
import PostgresClient
import PushRegistry
import RegistryTestSupport
import Testing

@testable import RegistryStore

@Suite("The events of an installation come in their order, whatever a creation waited for (R12)", .store)
struct LifeOrderTests {
    private let store = StoreUnderTest.lent!

    private struct RolledBack: Error {}

    /// The creation of a batch waits at its first installation. Meanwhile its second one lives and is deleted.
    @Test func newLife_comesAfterTheOneThatEndedDuringTheWait() async throws {
        let pair = try ["a", "b"].map { try Registration.make($0) }
            .sorted { $0.tokenSHA256.lexicographicallyPrecedes($1.tokenSHA256) }
        let writing = Locked<Task<[Outcome], any Error>?>(nil)
        do {
            try await store.database.withTransaction { transaction in
                _ = try await transaction.execute(Self.insert(pair[0].key.installID.rawValue))
                writing.withLock { $0 = Task { try await store.writeInOneBatch(pair, .alone) } }
                try await eventually { try await store.waitingSessions() == 1 }
                _ = try await store.register(.make(pair[1].key.installID.rawValue, token: "another"))
                try await PostgresInstallationStore(store.resources).delete(
                    Deletion(key: pair[1].key, requester: .service, precondition: nil, actor: "service:test"))
                throw RolledBack()
            }
        } catch is RolledBack {}
        _ = try await writing.withLock { $0 }?.value
        let events = try await store.database.execute(
            """
            SELECT event::text, generation_after FROM token_event
            WHERE install_id = \(pair[1].key.installID.rawValue) ORDER BY position, id
            """)
        #expect(try events.map { try $0.decode(0, as: String.self) } == ["registered", "deleted", "registered"])
        let generations = try events.map { try $0.decode(1, as: Int64.self) }
        #expect(generations == generations.sorted(), "\(generations)")
    }

    private static func insert(_ installID: String) -> PostgresStatement {
        """
        INSERT INTO installation (app_id, install_id, provider, state, generation, registration_generation, epoch,
            revision, created_at, registered_at, last_seen_at, state_changed_at, snapshot_at, cell, registration_digest,
            snapshot_digest, settings, device_model, system_name, system_version, locale, languages, time_zone_id,
            time_zone_offset)
        SELECT 1, \(installID), 'apns', 'superseded', 1, 1, 1, 1, now(), now(), now(), now(), now(), 1, '', '', 0, '',
            '', '', '', '{}', '', 0
        """
    }
}
