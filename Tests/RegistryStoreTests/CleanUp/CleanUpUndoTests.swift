import PostgresClient
import PushRegistry
import Testing

@testable import RegistryStore

@Suite("An undo restores what a run changed, once, and nothing else")
struct CleanUpUndoTests {
    private let token = "aaaaaaaaaaaaaaaa"

    private func undo(_ run: Int?, in stores: TestStores) async throws -> CleanUp.Undoing {
        try await CleanUp(stores.configuration).undo(#require(run), process: "test")
    }

    /// A stale or unregistered installation needs no row in `cleanup_change`: the step and the event determine its
    /// former state.
    @Test func judgements_areRestored_withoutARowForEach() async throws {
        try await TestStores.with { stores in
            try await stores.register("stale", token: token, as: "alice")
            try await stores.register("suspect", token: "bbbbbbbbbbbbbbbb")
            _ = try await stores.judge(["bbbbbbbbbbbbbbbb"], "BadDeviceToken")
            try await stores.age("stale", by: "61 days")
            try await stores.age("suspect", by: "8 days")
            let report = try await stores.cleanUp()
            #expect(report.counts[.stale] == 1 && report.counts[.unregistered] == 1)
            #expect(try await stores.sql("SELECT FROM cleanup_change").isEmpty)
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

    @Test func expiredSession_isRestored_whenTheSameRunForgotOldSessions() async throws {
        try await TestStores.with { stores in
            try await stores.register("phone", token: token, as: "alice", session: "s")
            try await stores.change("phone", "session_expires_at = now() - interval '1 second'")
            _ = try await stores.sql(
                """
                INSERT INTO session (app_id, session_id, recorded_at)
                SELECT app_id, 'old', now() - interval '401 days' FROM installation
                """)
            let report = try await stores.cleanUp()
            #expect(report.counts[.sessionEnded] == 1 && report.tombstones == 1)
            let undoing = try await undo(report.runID, in: stores)
            #expect(undoing.restored == 1 && undoing.skipped == 0)
            let phone = try #require(try await stores.installation("phone"))
            #expect(phone.owner?.userID.rawValue == "alice" && phone.owner?.session?.id.rawValue == "s")
            try await stores.expectIntact()
        }
    }

    /// The phone has another owner, so it stays.
    @Test func sessionOfAnErasedUser_isForgottenAtOnce() async throws {
        try await TestStores.with { stores in
            try await stores.register("phone", token: token, as: "alice", session: "s")
            try await stores.change("phone", "session_expires_at = now() - interval '1 second'")
            #expect(try await stores.cleanUp().counts[.sessionEnded] == 1)
            try await stores.register("phone", token: token, as: "bob", session: "t")
            let users = PostgresUserStore(LoopResources(postgres: stores.postgres))
            _ = try await users.erase(Erasure(app: stores.app.number, userID: UserID("alice"), actor: "service:test"))
            #expect(try await stores.sql("SELECT FROM cleanup_change WHERE session_id = 's'").isEmpty)
            try await stores.expectIntact()
        }
    }

    /// Two runs took the same token from one installation after the other. The
    /// undo returns it to the installation that had it last.
    @Test func token_isGivenBackOnce_whenTwoInstallationsLostIt() async throws {
        try await TestStores.with { stores in
            try await stores.register("first", token: token, keychain: "k")
            try await stores.register("other", token: "bbbbbbbbbbbbbbbb", keychain: "k")
            try await stores.age("first", by: "8 days")
            let report = try await stores.cleanUp()
            try await stores.register("second", token: token, keychain: "l")
            try await stores.register("another", token: "cccccccccccccccc", keychain: "l")
            try await stores.age("second", by: "8 days")
            try await stores.cleanUp()
            // As if one run had done both.
            _ = try await stores.sql("UPDATE cleanup_change SET run_id = \(Int32(#require(report.runID)))")
            #expect(try await undo(report.runID, in: stores).restored == 1)
            #expect(try await stores.installation("second")?.state == .active)
            #expect(try await stores.installation("first")?.state == .superseded)
            try await stores.expectIntact()
        }
    }

    /// The undo waits for the first installation; meanwhile the second one gets an event.
    @Test func event_comesAfterThoseThatWereWrittenDuringTheWait() async throws {
        try await TestStores.with { stores in
            for (name, token) in [("a", token), ("b", "bbbbbbbbbbbbbbbb")] {
                try await stores.register(name, token: token, as: "alice", session: "s-\(name)")
                try await stores.change(name, "session_expires_at = now() - interval '1 second'")
            }
            let run = try await stores.cleanUp().runID
            try await stores.postgres.holding("SELECT FROM installation WHERE install_id = 'a' FOR UPDATE") {
                let restored = try await undo(run, in: stores).restored
                #expect(restored == 2)
            } meanwhile: { _ in
                // As a logout that comes too late: an event, and the same generation.
                _ = try await stores.sql(
                    """
                    WITH late AS (
                        UPDATE installation SET revision = revision + 1 WHERE install_id = 'b' RETURNING *)
                    INSERT INTO token_event (position, at, app_id, install_id, event, reason, actor, provider, state,
                        generation_before, generation_after)
                    SELECT pg_current_xact_id()::text::bigint, now(), app_id, install_id, 'logoutIgnored', 'logout',
                        'service:test', provider, state, generation, generation
                    FROM late
                    """)
            }
            let events = try await stores.column(
                "SELECT event::text FROM token_event WHERE install_id = 'b' ORDER BY position, id")
            let written = try await stores.column(
                "SELECT event::text FROM token_event WHERE install_id = 'b' ORDER BY id")
            #expect(events == written && events.count == 4, "\(events) \(written)")
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
                    try await stores.change("i-\(number)", "session_expires_at = now() - interval '1 second'")
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
