import Basics
import PostgresClient
import PushRegistry
import RegistryTestSupport
import Testing

@testable import RegistryStore

@Suite("The events of an installation come in their order, whatever a creation waited for (R12)")
struct LifeOrderTests {
    private struct RolledBack: Error {}

    private final class Ending: Sendable {
        let hasCome = Locked(false)
    }

    /// The creation of a batch waits at its first installation. Meanwhile its second one lives and is deleted.
    @Test func newLife_comesAfterTheOneThatEndedDuringTheWait() async throws {
        try await withStore { store in
            for round in 1...20 {
                let pair = try ["a\(round)", "b\(round)"].map { try Registration.make($0) }
                    .sorted { $0.tokenSHA256.lexicographicallyPrecedes($1.tokenSHA256) }
                guard try await hasWaited(pair, store) else { continue }
                let events = try await store.database.execute(
                    """
                    SELECT event::text, generation_after FROM token_event
                    WHERE install_id = \(pair[1].key.installID.rawValue) ORDER BY position, id
                    """)
                #expect(
                    try events.map { try $0.decode(0, as: String.self) } == ["registered", "deleted", "registered"])
                let generations = try events.map { try $0.decode(1, as: Int64.self) }
                #expect(generations == generations.sorted(), "\(generations)")
                return
            }
            Issue.record("each wait ended too early")
        }
    }

    /// - Returns: false if the wait ended before the other life did.
    private func hasWaited(_ pair: [Registration], _ store: StoreUnderTest) async throws -> Bool {
        let writing = Locked<Task<[Outcome], any Error>?>(nil)
        let ending = Ending()
        do {
            try await store.database.withTransaction { transaction in
                _ = try await transaction.execute(Self.insert(pair[0].key.installID.rawValue))
                writing.withLock {
                    $0 = Task {
                        defer { ending.hasCome.withLock { $0 = true } }
                        return try await store.writeInOneBatch(pair)
                    }
                }
                // On a busy machine the wait may end, by its timeout, before it is seen.
                try await eventually {
                    if ending.hasCome.withLock({ $0 }) { return true }
                    return try await store.waitingSessions() == 1
                }
                _ = try await store.register(.make(pair[1].key.installID.rawValue, token: "another"))
                try await PostgresInstallationStore(store.resources).delete(
                    Deletion(key: pair[1].key, requester: .service, precondition: nil, actor: "service:test"))
                throw RolledBack()
            }
        } catch is RolledBack {}
        do {
            _ = try await writing.withLock { $0 }?.value
            return true
        } catch let error as PostgresError where error.kind == .lockTimeout {
            return false
        }
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
