import PostgresClient
import PushRegistry
import RegistryTestSupport
import Testing

@testable import RegistryJobs
@testable import RegistryStore

@Suite("The deletion of an app goes on where it ended, and leaves nothing of a transaction that ran beside it", .stores)
struct AppRemovalTests {
    private let stores = TestStores.lent!

    private struct Interruption: Error {}

    @Test func deletion_goesOn_whereAnotherProcessEnded() async throws {
        try await beginDeletion()
        let removal = AppRemoval(stores.configuration, batch: 5)
        await #expect(throws: Interruption.self) {
            try await removal.remove(stores.app.number) { rows in if rows > 10 { throw Interruption() } }
        }
        let left = try await stores.count("SELECT count(*) FROM installation")
        #expect(left > 0 && left < 20)
        #expect(try await stores.count("SELECT count(*) FROM app") == 1)
        for _ in ["now", "and for ever"] {
            let isGone = try await removal.remove(stores.app.number)
            #expect(isGone)
        }
        #expect(try await stores.count("SELECT count(*) FROM token_event") == 0)
        #expect(try await stores.count("SELECT count(*) FROM app") == 0)
    }

    @Test func rebuild_addsNothing_ifItHasListedTheAppBefore() async throws {
        try await beginDeletion()
        let app = stores.app.number
        try await PostgresSession.withSession(stores.configuration) { session in
            _ = try session.execute("DELETE FROM rollup_state")
            var report = RollUpRebuild.Report()
            try RollUpRebuild.rebuild(app, in: session, &report) { _ in }
        }
        #expect(try await stores.count("SELECT count(*) FROM rollup_state") == 0)
    }

    @Test func oneProcess_deletesAnApp() async throws {
        try await beginDeletion()
        let app = stores.app.number
        try await stores.postgres.withTransaction { holder in
            _ = try await holder.execute(
                "SELECT pg_advisory_xact_lock(hashtext('push-registry: deletion'), \(app.rawValue))")
            let isGone = try await AppRemoval(stores.configuration).remove(app)
            #expect(!isGone)
        }
        #expect(try await stores.count("SELECT count(*) FROM installation") == 20)
    }

    @Test func app_isDeleted_whileARowOfAnotherOneIsLocked() async throws {
        try await beginDeletion()
        let other = try await stores.appBehind()
        _ = try await PostgresAppDirectory(postgres: stores.postgres).delete(AppID("com.example.news"))
        try await stores.postgres.withTransaction { holder in
            _ = try await holder.execute("SELECT FROM installation FOR UPDATE")
            // It ends with this scope.
            async let _ = AppRemoval(stores.configuration).run(noticing: stores.postgres) { _ in }
            try await eventually("the other app is gone") {
                try await stores.count("SELECT count(*) FROM app WHERE id = \(other)") == 0
            }
        }
        #expect(try await stores.count("SELECT count(*) FROM app") == 1)
    }

    @Test func calls_findNoApp_whileItIsDeleted() async throws {
        try await beginDeletion()
        let (app, alice) = (stores.app.number, try UserID("alice"))
        let audit = PostgresAuditStore(postgres: stores.postgres)
        try await stores.postgres.holding("SELECT FROM app FOR UPDATE") {
            try await audit.record(.ofTest(.userErased), of: app)
        }
        _ = try await stores.sql("DELETE FROM rollup_state")
        let users = PostgresUserStore(LoopResources(postgres: stores.postgres))
        await #expect(throws: AppIsBeingDeleted.self) {
            _ = try await users.erase(Erasure(app: app, userID: alice, actor: "service:test"))
        }
        await #expect(throws: AppIsBeingDeleted.self) {
            _ = try await users.end(SessionEnd(app: app, scope: .user(alice, except: nil), actor: "service:test"))
        }
        await #expect(throws: AppIsBeingDeleted.self) {
            try await audit.record(.ofTest(.userErased), of: AppNumber(4_711))
        }
        await #expect(throws: AppIsBeingDeleted.self) {
            _ = try await PostgresSegmentStore(postgres: stores.postgres).put(
                SegmentName("s"), filter: "{}", description: nil, uses: [], topics: [], in: AppNumber(4_711),
                recording: .ofTest(.segmentSaved)
            ) { _, _ in }
        }
    }

    /// It has read the row of `rollup_state`, and commits after all other rows were deleted.
    @Test func rowOfATransactionThatBeganBefore_isDeleted() async throws {
        try await beginDeletion()
        let app = stores.app.number
        try await stores.postgres.withTransaction { writer in
            _ = try await writer.execute(
                HolderStatements.add([stores.address("late")], in: app))
            async let isGone = AppRemoval(stores.configuration).remove(app)
            try await eventually("the deletion waits for the transaction") {
                try await stores.count(
                    "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT DISTINCT virtualtransaction%'")
                    > 0
            }
            #expect(try await stores.count("SELECT count(*) FROM installation") == 0)
            try await writer.commit()
            let hasEnded = try await isGone
            #expect(hasEnded)
        }
        #expect(try await stores.count("SELECT count(*) FROM token_holder") == 0)
    }

    /// Of the app, with 20 installations.
    private func beginDeletion() async throws {
        for number in 10..<30 {
            try await stores.register("phone-\(number)", token: "abababababababab\(number)", as: "user-\(number)")
        }
        let deletion = try await PostgresAppDirectory(postgres: stores.postgres).delete(stores.app.id)
        #expect(deletion?.isNew == true)
    }
}
