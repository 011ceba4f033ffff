import Basics
import PostgresClient
import PushRegistry
import Testing

@testable import RegistryJobs
@testable import RegistryStore

/// The topics of an app and the choices about them, beside the other stores.
private struct Topics {
    let stores: TestStores
    let store: PostgresTopicStore
    let catalogue: TopicCatalogue

    /// t1 and t3 are out by default, t2 is in, t4 is locked.
    ///
    /// - Parameter pageMax: the most installations of one transaction.
    static func with(
        pageMax: Int64 = UserTopicsWriter.pageMax, _ body: @escaping @Sendable (Topics) async throws -> Void
    ) async throws {
        try await TestStores.with { stores in
            let store = PostgresTopicStore(LoopResources(postgres: stores.postgres), pageMax: pageMax)
            async let _ = store.run()
            try await body(Topics(stores: stores, store: store, catalogue: try await stores.makeTopics(4)))
        }
    }

    func patch(_ choices: [(slug: String, choice: Bool?)]) -> TopicsPatch {
        TopicsPatch(
            TopicChange.tolerated(choices, in: catalogue), of: stores.app, credential: nil, actor: "service:test")
    }

    func choose(_ slug: String, _ choice: Bool?, on installID: String) async throws {
        _ = try await store.apply(patch([(slug, choice)]), to: stores.key(installID), for: .service)
    }

    func choose(_ slug: String, _ choice: Bool?, user: String) async throws {
        _ = try await store.apply(patch([(slug, choice)]), to: UserID(user), in: stores.app.number)
    }

    /// The slugs of the topics that the installation is subscribed to.
    func subscriptions(of installID: String) async throws -> String? {
        try await store.topics(of: stores.key(installID))?.topics.subscriptions(in: catalogue)
            .filter(\.isSubscribed).map(\.topic.slug.rawValue).joined(separator: " ")
    }
}

@Suite("Choices about topics end with their owner or topic, and not before (fine print 47, 87)")
struct TopicStoreTests {
    private let token = "aaaaaaaaaaaaaaaa"

    /// The kiosks of one user: those of a page are locked for the time of a page.
    @Test func choiceOfAUser_isWrittenPageByPage_inTransactionsOfTheirOwn() async throws {
        try await Topics.with(pageMax: 2) { topics in
            let stores = topics.stores
            for number in 0..<5 {
                try await stores.register("i-\(number)", token: "aaaaaaaaaaaaaa0\(number)", as: "kiosk")
            }
            try await stores.postgres.holding("SELECT FROM installation WHERE install_id = 'i-4' FOR UPDATE") {
                try await topics.choose("t1", true, user: "kiosk")
            } meanwhile: { _ in
                #expect(try await topics.subscriptions(of: "i-3") == "t1 t2 t4")
                _ = try await stores.postgres.execute("SELECT FROM installation WHERE install_id = 'i-3' FOR UPDATE")
            }
            for number in 0..<5 { #expect(try await topics.subscriptions(of: "i-\(number)") == "t1 t2 t4") }
            try await stores.expectIntact()
        }
    }

    /// The first call was cut off behind its first page.
    @Test func repeatedChoiceOfAUser_reachesTheRestOfTheInstallations() async throws {
        try await Topics.with(pageMax: 2) { topics in
            for number in 0..<5 {
                try await topics.stores.register("i-\(number)", token: "aaaaaaaaaaaaaa0\(number)", as: "kiosk")
            }
            try await topics.choose("t1", true, user: "kiosk")
            for number in 2..<5 { try await topics.stores.change("i-\(number)", "topics = NULL") }
            try await topics.choose("t1", true, user: "kiosk")
            for number in 0..<5 { #expect(try await topics.subscriptions(of: "i-\(number)") == "t1 t2 t4") }
            let events = try await topics.stores.sql("SELECT FROM token_event WHERE event = 'topicsChanged'")
            #expect(events.count == 1)
        }
    }

    @Test func expiredSession_endsChoices() async throws {
        let token = token
        try await Topics.with { topics in
            let stores = topics.stores
            try await stores.register("phone", token: token, as: "alice", session: "s")
            try await stores.change("phone", "session_expires_at = now() - interval '1 second'")
            try await topics.choose("t2", false, on: "phone")
            try await topics.choose("t1", true, user: "alice")
            #expect(try await topics.subscriptions(of: "phone") == "t1 t4")
            let report = try await stores.cleanUp()
            #expect(report.counts[.sessionEnded] == 1)
            #expect(try await topics.subscriptions(of: "phone") == "t2 t4")
            let resets = try await stores.sql(
                "SELECT topics FROM token_event WHERE event = 'topicsChanged' AND reason = 'topicsReset'")
            #expect(try resets.map { try $0.decode(0, as: [String].self) } == [["t2"]])
            try await stores.expectIntact()
        }
    }

    @Test func nightJob_movesCountsByTopic_withEachState() async throws {
        let token = token
        try await Topics.with { topics in
            let stores = topics.stores
            for (name, token) in [("stale", token), ("suspect", "bbbbbbbbbbbbbbbb")] {
                try await stores.register(name, token: token, as: "alice")
                try await topics.choose("t1", true, on: name)
            }
            _ = try await stores.judge(["bbbbbbbbbbbbbbbb"], "BadDeviceToken")
            for name in ["stale", "suspect"] { try await stores.age(name, by: "61 days") }
            try await stores.expectIntact()
            let report = try await stores.cleanUp()
            #expect(report.counts[.stale] == 1 && report.counts[.unregistered] == 1)
            try await stores.expectIntact()
            _ = try await CleanUp(stores.configuration).undo(#require(report.runID), process: "test")
            try await stores.expectIntact()
            // The undo restarted the suspect's grace, so it is purged a night later.
            try await stores.cleanUp()
            var purged = 0
            for _ in 1...2 {
                for name in ["stale", "suspect"] { try await stores.age(name, by: "91 days") }
                purged += try await stores.cleanUp().counts[.purged]
            }
            #expect(purged == 2)
            #expect(try await stores.count("SELECT count(*) FROM rollup_cube WHERE topic <> 0") == 0)
            try await stores.expectIntact()
        }
    }

    @Test func deletedTopic_leavesNoRows_afterTheNightJob() async throws {
        let token = token
        try await Topics.with { topics in
            let stores = topics.stores
            try await stores.register("phone", token: token, as: "alice")
            try await topics.choose("t1", true, on: "phone")
            try await topics.choose("t2", false, on: "phone")
            try await topics.choose("t1", false, user: "alice")
            _ = try await topics.store.delete(TopicSlug("t1"), of: stores.app.number)
            try await stores.expectIntact()
            try await stores.cleanUp()
            #expect(try await stores.sql("SELECT FROM deleted_topic").isEmpty)
            let t2 = try #require(topics.catalogue["t2"]).number.rawValue
            #expect(try await stores.count("SELECT count(*) FROM installation WHERE topics = ARRAY[\(-t2)]") == 1)
            #expect(try await stores.count("SELECT count(*) FROM user_guard WHERE topics IS NOT NULL") == 0)
            #expect(try await stores.count("SELECT count(*) FROM rollup_cube WHERE topic <> 0") == 1)
            try await stores.expectIntact()
        }
    }

    @Test func rebuild_restoresCountsByTopic() async throws {
        let token = token
        try await Topics.with { topics in
            let stores = topics.stores
            try await stores.register("phone", token: token, as: "alice")
            try await topics.choose("t1", true, user: "alice")
            try await stores.fold()
            _ = try await stores.sql("UPDATE rollup_cube SET installations = 7, active = 3 WHERE topic <> 0")
            #expect(try await stores.brokenRollUp() == ["rollup-recount"])
            _ = try await RollUpRebuild(stores.configuration).run()
            #expect(try await stores.brokenRollUp().isEmpty)
            try await stores.expectIntact()
        }
    }
}
