import PostgresClient
import PushRegistry
import Testing

@testable import RegistryJobs
@testable import RegistryStore

@Suite("An undo restores what a run changed, once, and nothing else", .stores)
struct CleanUpUndoTests {
    private let stores = TestStores.lent!

    private let token = "aaaaaaaaaaaaaaaa"

    private func undo(_ run: Int?, in stores: TestStores) async throws -> CleanUp.Undoing {
        try await CleanUp(stores.configuration).undo(#require(run), process: "test")
    }

    /// The look-up without locks passes only a row that its last registration left as it is.
    @Test func restoredInstallation_isLookedUpWithoutLocks_onceItHasRegistered() async throws {
        try await stores.register("i-1", token: token)
        try await stores.age("i-1", by: "61 days")
        _ = try await undo(stores.cleanUp().runID, in: stores)
        let isChanged: PostgresStatement =
            "SELECT count(*) FROM installation WHERE generation <> registration_generation"
        #expect(try await stores.count(isChanged) == 1)
        let generation = try await stores.register("i-1", token: token).generation
        #expect(try await stores.count(isChanged) == 0)
        #expect(try await stores.register("i-1", token: token).generation == generation)
        try await stores.expectIntact()
    }

    /// In two cells, so in two transactions.
    @Test func undo_isOneEntryOfTheAudit_ifItRestoresSomething() async throws {
        for (number, version) in ["26.4", "26.5"].enumerated() {
            try await stores.register("i-\(number)", token: token + "\(number)0", systemVersion: version)
            try await stores.age("i-\(number)", by: "61 days")
        }
        let run = try await stores.cleanUp().runID
        for restored in [2, 0] {
            #expect(try await undo(run, in: stores).restored == restored)
            let entries = try await stores.sql("SELECT FROM audit_entry WHERE action = 'cleanup.undone'")
            #expect(entries.count == 1)
        }
    }

    /// The chosen rows are deleted, registered and logged out while they are restored.
    @Test func undo_keepsEveryPromise_whileItsInstallationsChange() async throws {
        for round in 0..<5 {
            for number in 0..<30 {
                try await stores.register(
                    "i-\(number)", token: "aaaaaaaaaaaa" + String(1_000 + number), as: "alice",
                    session: "s-\(round)-\(number)")
                try await stores.age("i-\(number)", by: "61 days")
            }
            let run = try await stores.cleanUp().runID
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { _ = try await undo(run, in: stores) }
                for number in 0..<10 {
                    group.addTask {
                        let deletion = Deletion(
                            key: try stores.key("i-\(number)"), requester: .service, precondition: nil,
                            actor: "service:test")
                        try await stores.installations.delete(deletion)
                    }
                    group.addTask {
                        try await stores.register(
                            "i-\(number + 10)", token: "aaaaaaaaaaaa" + String(1_039 - number), as: "bob")
                    }
                }
                try await group.waitForAll()
            }
            try await stores.expectIntact()
        }
    }
}
