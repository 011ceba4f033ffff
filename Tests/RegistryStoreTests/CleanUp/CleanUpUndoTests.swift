import PostgresClient
import PushRegistry
import Testing

@testable import RegistryJobs
@testable import RegistryStore

@Suite("An undo restores what a run changed, once, and nothing else")
struct CleanUpUndoTests {
    private let token = "aaaaaaaaaaaaaaaa"

    private func undo(_ run: Int?, in stores: TestStores) async throws -> CleanUp.Undoing {
        try await CleanUp(stores.configuration).undo(#require(run), process: "test")
    }

    /// The step determines the former state.
    @Test func judgements_areRestored() async throws {
        try await TestStores.with { stores in
            try await stores.register("stale", token: token, as: "alice")
            try await stores.register("suspect", token: "bbbbbbbbbbbbbbbb")
            _ = try await stores.judge(["bbbbbbbbbbbbbbbb"], "BadDeviceToken")
            try await stores.age("stale", by: "61 days")
            try await stores.age("suspect", by: "8 days")
            let report = try await stores.cleanUp()
            #expect(report.counts[.stale] == 1 && report.counts[.unregistered] == 1)
            // The later run is not undone.
            try await stores.register("other", token: "cccccccccccccccc")
            try await stores.age("other", by: "61 days")
            try await stores.cleanUp()
            let undoing = try await undo(report.runID, in: stores)
            #expect(undoing.restored == 2 && undoing.skipped == 0)
            #expect(try await stores.installation("stale")?.state == .active)
            #expect(try await stores.installation("suspect")?.state == .suspect)
            #expect(try await stores.installation("other")?.state == .stale)
            try await stores.expectIntact()
        }
    }

    /// The chosen rows are deleted, registered and logged out while they are restored.
    @Test func undo_keepsEveryPromise_whileItsInstallationsChange() async throws {
        try await TestStores.with { stores in
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
}
