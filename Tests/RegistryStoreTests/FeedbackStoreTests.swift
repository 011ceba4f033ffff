import Basics
import EventLoop
import PostgresClient
import PushRegistry
import RegistryTestSupport
import Testing

@testable import RegistryStore

@Suite("Feedback is applied whole, in few round trips, and never against a registration that came after (R9)", .stores)
struct FeedbackStoreTests {
    private let stores = TestStores.lent!
    private let token = "aaaaaaaaaaaaaaaa"

    /// What feedback comes to that waits until others have committed these changes.
    private func counts(
        after changes: [PostgresStatement], of feedback: @escaping @Sendable () async throws -> FeedbackCounts
    ) async throws -> FeedbackCounts {
        try await stores.postgres.withTransaction { others in
            _ = try await others.execute(changes)
            async let counts = feedback()
            try await stores.waitForBlockedSession()
            try await others.commit()
            return try await counts
        }
    }

    /// A registration marks the installation between reading and writing (R5): no order of the two leaves it as it is
    /// marked and unregistered.
    @Test func markedInstallation_isRetired_whenItIsMarkedWhileTheFeedbackWaits() async throws {
        try await stores.register("old", token: token)
        try await stores.waitTwoDays()
        let mark: PostgresStatement =
            "UPDATE installation SET probably_replaced_by = 'new', revision = revision + 1"
        let counts = try await counts(after: [mark]) { try await stores.judge([token]) }
        #expect(counts[.unregistered] == 1)
        #expect(try await stores.installation("old")?.state == .superseded)
        try await stores.expectIntact()
    }

    /// Retiring, judging and taking over the same eight tokens, by ids and by tokens, in any order.
    @Test func feedback_agreesWithTakeovers_whoeverComesFirst() async throws {
        let tokens = (0..<8).map { "aaaaaaaaaaaaaaa\($0)" }
        for round in 0..<40 {
            for (number, token) in tokens.enumerated() {
                try await stores.register("phone-\(number)", token: token, as: "alice", keychain: "k-\(number)")
            }
            // A second installation of the same device, which marks the first one.
            for number in 0..<4 {
                let fresh = "bbbbbbbbbb" + String(100_000 + round * 8 + number)
                try await stores.register("new-\(round)-\(number)", token: fresh, keychain: "k-\(number)")
            }
            try await stores.waitTwoDays()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in tokens.indices {
                    group.addTask {
                        try await stores.register("thief-\(round % 3)-\(number)", token: tokens[7 - number])
                    }
                }
                for _ in 0..<3 { group.addTask { _ = try await stores.judge(tokens.shuffled()) } }
                group.addTask {
                    let items = try tokens.indices.shuffled().map { number in
                        FeedbackItem(
                            installID: try InstallID("phone-\(number)"), provider: .apns, addresses: [],
                            reason: "BadDeviceToken")
                    }
                    _ = try await stores.feedback.apply(
                        Feedback(of: stores.app, items: items, actor: "sender:test"))
                }
                try await group.waitForAll()
            }
        }
        try await stores.expectIntact()
    }

    /// The token goes to another row between reading and writing.
    @Test func token_isJudgedWhereItIs_whenItMovesWhileTheFeedbackWaits() async throws {
        try await stores.register("old", token: token)
        try await stores.register("new", token: "bbbbbbbbbbbbbbbb")
        try await stores.waitTwoDays()
        let counts = try await counts(after: stores.takeover(of: token)) { try await stores.judge([token]) }
        #expect(counts[.unregistered] == 1)
        #expect(try await stores.installation("new")?.state == .unregistered)
        #expect(try await stores.installation("old")?.state == .superseded)
    }

    /// The token goes from one row to another, of which a statement that waits for the first one's lock sees neither.
    @Test func token_isNotUnknown_whenItMovesWhileTheFeedbackWaitsForALock() async throws {
        try await stores.register("old", token: token)
        try await stores.register("new", token: "bbbbbbbbbbbbbbbb")
        try await stores.waitTwoDays()
        let feedback = Feedback(of: stores.app, items: [try stores.item(token)], actor: "sender:test")
        let counts = try await counts(after: stores.takeover(of: token)) {
            try await stores.feedback.applyLocked(feedback)
        }
        #expect(counts[.unregistered] == 1 && counts[.unknown] == 0)
        #expect(try await stores.installation("new")?.state == .unregistered)
    }

    /// Who waits for an installation keeps nobody waiting who needs the breaker or a later installation.
    @Test func feedback_locksTheBreakerLast_andAllInstallationsInTheOrderOfTheirIDs() async throws {
        let voip = try SentTypedToken.make(.voip, "voip")
        try await stores.register("a", token: token, tokens: [voip])
        try await stores.register("b", token: "bbbbbbbbbbbbbbbb")
        try await stores.register("c", token: "cccccccccccccccc")
        try await stores.waitTwoDays()
        #expect(try await stores.judge(["cccccccccccccccc"])[.unregistered] == 1)
        let typed = FeedbackItem(
            installID: nil, provider: .apns,
            addresses: [TokenAddress(app: stores.app.number, provider: .apns, sha256: voip.sha256)],
            reason: "Unregistered")
        let feedback = Feedback(
            of: stores.app, items: [try stores.item("bbbbbbbbbbbbbbbb"), typed], actor: "sender:test")
        let counts = try await stores.postgres.withTransaction { other in
            _ = try await other.execute("SELECT FROM installation WHERE install_id = 'a' FOR UPDATE")
            async let counts = stores.feedback.applyLocked(feedback)
            try await stores.waitForBlockedSession()
            #expect(try await stores.sql("SELECT FROM feedback_breaker FOR UPDATE NOWAIT").count == 1)
            let later: PostgresStatement = "SELECT FROM installation WHERE install_id = 'b' FOR UPDATE NOWAIT"
            #expect(try await stores.sql(later).count == 1)
            try await other.commit()
            return try await counts
        }
        #expect(counts[.unregistered] == 2)
        try await stores.expectIntact()
    }

    /// A read locks no row: feedback that changes nothing waits for no lock.
    @Test func feedback_waitsForNoLock_whenItChangesNothing() async throws {
        try await stores.register("phone", token: token)
        let sent = try #require(try await stores.installation("phone")?.lastSeenAt)
        let counts = try await stores.postgres.withTransaction { registration in
            _ = try await registration.execute(
                "UPDATE installation SET generation = generation + 1, revision = revision + 1")
            return try await stores.judge([token], at: sent)
        }
        #expect(counts[.outdated] == 1)
    }

    /// An item without a time gets the time of its receipt, however long it waits.
    @Test func feedback_isAsOldAsItsReceipt_whenItHadToWait() async throws {
        let arrivedAt = ContinuousClock.now
        try await stores.register("phone", token: token)
        let feedback = Feedback(
            of: stores.app, items: [try stores.item(token)], actor: "sender:test", arrivedAt: arrivedAt)
        #expect(try await stores.feedback.apply(feedback)[.outdated] == 1)
        #expect(try await stores.judge([token])[.suspect] == 1)
    }

    /// As the rules have it, though most of an event is written from the installation's row.
    @Test func events_areThoseOfTheRules_whateverTheStepsWere() async throws {
        let tokens = ["dead", "doubtful", "both", "old"].map { String(hex: TestStores.sha256(Array($0.utf8))) }
        for (name, token) in zip(["dead", "doubtful", "both", "old"], tokens) {
            try await stores.register(name, token: token, as: "alice", keychain: name == "old" ? "k" : nil)
        }
        try await stores.register("new", token: token, keychain: "k")
        try await stores.waitTwoDays()
        let words = [
            ("Unregistered", 0), ("BadDeviceToken", 1), ("BadDeviceToken", 2), ("Unregistered", 2),
            ("Unregistered", 3),
        ]
        let items = try words.map { try stores.item(tokens[$0.1], $0.0) }
        let counts = try await stores.feedback.apply(Feedback(of: stores.app, items: items, actor: "sender:test"))
        #expect(counts[.unregistered] == 3 && counts[.suspect] == 2)
        let due = [
            "dead": ["unregistered tokenDead 1"], "doubtful": ["suspect tokenRefused 1"],
            "both": ["unregistered tokenDead 2", "suspect tokenRefused 1"], "old": ["superseded reinstalled 1"],
        ]
        for (name, token) in zip(["dead", "doubtful", "both", "old"], tokens) {
            let page = try #require(try await stores.events.events(of: stores.key(name), before: nil, limit: 9))
            let begin = try #require(page.events.last?.generationAfter)
            let events = page.events.dropLast()
            #expect(events.map { "\($0.kind) \($0.reason) \(($0.generationAfter ?? 0) - begin)" } == due[name])
            #expect(
                events.allSatisfy {
                    $0.generationBefore == $0.generationAfter.map { $0 - 1 } && $0.state == $0.kind
                })
            #expect(events.allSatisfy { $0.userID == "alice" && $0.previousUserID == "alice" })
            #expect(events.allSatisfy { $0.tokenSHA256 == TestStores.sha256(Array(token.utf8)) })
            #expect(events.allSatisfy { $0.actor == "sender:test" && $0.provider == "apns" })
        }
        try await stores.expectIntact()
    }

    @Test func tenThousandItems_areCountedOnce_each() async throws {
        try await stores.register("phone", token: token)
        try await stores.waitTwoDays()
        let items = [token] + (0..<9_998).map { "bbbbbbbbbbbb" + String($0 + 10_000) } + [token]
        let counts = try await stores.judge(items)
        #expect(counts[.unregistered] == 1 && counts[.unknown] == 9_998 && counts[.ignored] == 1)
        #expect(FeedbackOutcome.allCases.reduce(0) { $0 + counts[$1] } == items.count)
    }
}

extension TestStores {
    /// Until a session waits for a row that another one has locked.
    func waitForBlockedSession() async throws {
        try await eventually {
            try await count("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'") > 0
        }
    }

    /// The token goes from "old" to "new", in the lock order of all transactions.
    fileprivate func takeover(of token: String) -> [PostgresStatement] {
        let digest = Self.sha256(Array(token.utf8))
        return [
            PostgresStatement("SELECT FROM token_holder WHERE token_sha256 = \(digest) FOR UPDATE"),
            PostgresStatement("UPDATE token_holder SET install_id = 'new' WHERE token_sha256 = \(digest)"),
            """
            UPDATE token_holder SET install_id = NULL
            WHERE token_sha256 = (SELECT token_sha256 FROM installation WHERE install_id = 'new')
            """,
            """
            UPDATE installation SET token = NULL, token_sha256 = NULL, state = 'superseded',
                generation = generation + 1, revision = revision + 1
            WHERE install_id = 'old'
            """,
            PostgresStatement(
                """
                UPDATE installation SET token = \(token), token_sha256 = \(digest), revision = revision + 1
                WHERE install_id = 'new'
                """),
        ]
    }
}
