import PostgresClient
import PushRegistry
import Testing

@testable import RegistryJobs
@testable import RegistryStore

@Suite("The audit has an entry of each change that was made, and of no other", .stores)
struct AuditStoreTests {
    private let stores = TestStores.lent!

    private struct Changes: Sendable {
        let stores: TestStores
        let directory: PostgresAppDirectory
        let topics: PostgresTopicStore
        let segments: PostgresSegmentStore
        let audit: PostgresAuditStore

        init(_ stores: TestStores) {
            self.stores = stores
            directory = PostgresAppDirectory(postgres: stores.postgres)
            topics = PostgresTopicStore(LoopResources(postgres: stores.postgres))
            segments = PostgresSegmentStore(postgres: stores.postgres)
            audit = PostgresAuditStore(postgres: stores.postgres)
        }

        var app: AppNumber { stores.app.number }

        func key(_ id: String) -> APIKey {
            APIKey(
                id: id, app: app, name: "k", roles: [.client], secretSHA256: [UInt8](0..<32), createdAt: .now(),
                revokedAt: nil)
        }

        func putTopic(_ slug: String) async throws {
            let content = try Topic.Content(
                name: "News", description: nil, category: nil, isInByDefault: true, isLocked: false)
            _ = try await topics.put(
                try TopicSlug(slug), content, in: app, recording: .ofTest(.topicSaved, slug))
        }

        func putSegment(_ name: String) async throws {
            _ = try await segments.put(
                try SegmentName(name), filter: "{}", description: nil, uses: [], topics: [], in: app,
                recording: .ofTest(.segmentSaved, name), check: { _, _ in })
        }

        func deleteSegment(_ name: String) async throws -> Bool {
            try await segments.delete(
                SegmentName(name), of: app, recording: .ofTest(.segmentDeleted, name), check: { _ in })
        }

        /// The changes that are one transaction each, in an order in which each is possible.
        var all: [(action: AuditEntry.Action, change: @Sendable () async throws -> Void)] {
            get throws {
                let id = stores.app.id
                return [
                    (
                        .policyReplaced,
                        { try await directory.put(id, policy: .standard) }
                    ),
                    (.keyCreated, { try await directory.add(key("k1")) }),
                    (.keyRevoked, { _ = try await directory.revokeKey("k1", of: app) }),
                    (.topicSaved, { try await putTopic("news") }),
                    (.topicDeleted, { _ = try await topics.delete(try TopicSlug("news"), of: app) }),
                    (.segmentSaved, { try await putSegment("s") }),
                    (.segmentDeleted, { _ = try await deleteSegment("s") }),
                    (.appDeleted, { _ = try await directory.delete(id) }),
                ]
            }
        }

        /// Oldest first.
        func actions(of app: AppNumber? = nil) async throws -> [String] {
            try await audit.entries(of: app, action: nil, actor: nil, before: nil, limit: 1_000)
                .reversed().map(\.entry.action)
        }

        /// What the changes change.
        func state() async throws -> [String] {
            try await stores.sql(
                """
                SELECT coalesce(deleting_since::text, '') || updated_at FROM app UNION ALL
                SELECT id || coalesce(revoked_at::text, '') FROM api_key UNION ALL
                SELECT slug FROM topic UNION ALL SELECT name FROM segment ORDER BY 1
                """
            ).map { try $0.decode(0) }
        }
    }

    @Test func change_andItsEntry_areOneTransaction() async throws {
        let changes = Changes(stores)
        var expected = ["app.created"]
        #expect(try await changes.actions(of: changes.app) == expected)
        for (action, change) in try changes.all {
            let before = try await changes.state()
            try await stores.fail(changesOf: "audit_entry", when: "true")
            await #expect(throws: StoreError.self, "\(action)") { try await change() }
            _ = try await stores.sql("DROP TRIGGER fail ON audit_entry")
            #expect(try await changes.state() == before, "\(action) without its entry")
            try await change()
            #expect(try await changes.state() != before, "\(action)")
            guard action != .appDeleted else { continue }
            expected.append(action.rawValue)
            #expect(try await changes.actions(of: changes.app) == expected)
        }
        #expect(try await changes.actions() == ["app.deleted"], "of no app")
        #expect(try await changes.actions(of: changes.app) == expected)
        let isGone = try await AppRemoval(stores.configuration).remove(changes.app)
        #expect(isGone)
        #expect(try await changes.actions() == ["app.deleted"], "it stays")
        #expect(try await stores.count("SELECT count(*) FROM audit_entry") == 1)
    }

    @Test func nothing_isAdded_byAChangeThatIsRefusedOrNone() async throws {
        let changes = Changes(stores)
        let directory = changes.directory
        try await directory.add(changes.key("k1"))
        for _ in 1...2 { #expect(try await directory.revokeKey("k1", of: changes.app)) }
        #expect(try await !directory.revokeKey("k2", of: changes.app))
        await #expect(throws: SegmentRefusal.inUse) {
            _ = try await directory.change(stores.app.id) { _ in throw SegmentRefusal.inUse }
        }
        #expect(try await !changes.topics.delete(TopicSlug("news"), of: changes.app))
        #expect(try await !changes.deleteSegment("s"))
        await #expect(throws: SegmentRefusal.inUse) {
            _ = try await changes.segments.put(
                SegmentName("s"), filter: "{}", description: nil, uses: [], topics: [], in: changes.app,
                recording: .ofTest(.segmentSaved), check: { _, _ in throw SegmentRefusal.inUse })
        }
        #expect(try await directory.delete(AppID("com.example.unknown")) == nil)
        #expect(
            try await changes.actions(of: changes.app) == ["app.created", "key.created", "key.revoked"])
        #expect(try await directory.delete(stores.app.id)?.isNew == true)
        #expect(try await directory.delete(stores.app.id)?.isNew == false)
        #expect(try await changes.actions() == ["app.deleted"])
    }

    @Test func changesAtOnce_haveAnEntryEach() async throws {
        let changes = Changes(stores)
        try await changes.directory.add(changes.key("k1"))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<20 {
                group.addTask { try await changes.putTopic("t\(number % 10)") }
                group.addTask { try await changes.putSegment("s\(number % 10)") }
                group.addTask { _ = try await changes.directory.revokeKey("k1", of: changes.app) }
            }
            try await group.waitForAll()
        }
        let counts = try await changes.actions(of: changes.app).reduce(into: [:]) { $0[$1, default: 0] += 1 }
        #expect(
            counts == [
                "app.created": 1, "key.created": 1, "key.revoked": 1, "topic.saved": 20, "segment.saved": 20,
            ])
    }

    /// More than a batch beside busy sessions.
    @Test func oldEntries_areDeleted_byTheNightJob() async throws {
        let changes = Changes(stores)
        _ = try await stores.sql(
            """
            INSERT INTO audit_entry (app_id, at, action, target, members, actor, roles)
            SELECT CASE WHEN n % 2 = 0 THEN \(changes.app.rawValue)::integer END, now() - n * interval '24 hours',
                'topic.saved', n::text, '{}', 'admin', '{admin}'
            FROM generate_series(1, 1000) AS n
            """)
        var options = CleanUp.Options()
        options.historyRetention = .days(400)
        options.apps = [stores.app.id]
        _ = try await CleanUp(stores.configuration).run(options)
        #expect(try await stores.count("SELECT count(*) FROM audit_entry") == 1_001, "a run of one app")
        options.apps = []
        _ = try await CleanUp(stores.configuration).run(options)
        let left = try await stores.sql("SELECT target FROM audit_entry ORDER BY at DESC OFFSET 1")
        // The run began a moment after the entries.
        #expect(try left.map { try $0.decode(0, as: String.self) } == (1...399).map(String.init))
        #expect(try await changes.actions(of: changes.app).count == 200)
        #expect(try await changes.actions().count == 200)
    }
}
