import PostgresClient
import PushRegistry
import RegistryStore
import Testing

@Suite("Feedback is applied whole, in few round trips, and never against a registration that came after (R9)")
struct FeedbackStoreTests {
    private let token = "aaaaaaaaaaaaaaaa"

    @Test func verdict_isWritten_withItsEvent() async throws {
        try await TestStores.with { stores in
            let registered = try await stores.register("phone", token: token, as: "alice")
            try await stores.waitTwoDays()
            #expect(try await stores.judge([token])[.unregistered] == 1)
            let after = try #require(try await stores.installation("phone"))
            #expect(after.state == .unregistered && after.generation == registered.generation + 1)
            #expect(after.registrationGeneration == registered.generation && after.tokenSHA256 != nil)
            let page = try #require(try await stores.events.events(of: stores.key("phone"), before: nil, limit: 10))
            #expect(page.events.map(\.kind) == ["unregistered", "registered"])
            #expect(page.events[0].actor == "sender:test" && page.events[0].userID == "alice")
        }
    }

    @Test func registration_heals_whateverTheVerdictWas() async throws {
        try await TestStores.with { stores in
            try await stores.register("phone", token: token)
            try await stores.waitTwoDays()
            _ = try await stores.judge([token])
            #expect(try await stores.register("phone", token: token).state == .active)
            let seen = try await stores.installation("phone")?.lastSeenAt
            #expect(try await stores.judge([token], at: seen)[.outdated] == 1)
        }
    }

    @Test func reinstalledInstallation_givesUpItsToken_whenItIsDead() async throws {
        try await TestStores.with { stores in
            try await stores.register("old", token: token, keychain: "k")
            try await stores.register("new", token: "bbbbbbbbbbbbbbbb", keychain: "k")
            try await stores.waitTwoDays()
            #expect(try await stores.judge([token])[.unregistered] == 1)
            let old = try #require(try await stores.installation("old"))
            #expect(old.state == .superseded && old.tokenSHA256 == nil)
            #expect(try await RegistryVerifier(stores.configuration).verify().isIntact)
        }
    }

    /// The feedback says what was true before the app registered again; the two arrive together, in any order.
    @Test func lateFeedback_neverHitsTheNewRegistration_whoeverComesFirst() async throws {
        try await TestStores.with { stores in
            let tokens = (0..<40).map { "aaaaaaaaaaaaaa" + String($0 + 10) }
            for (number, token) in tokens.enumerated() { try await stores.register("phone-\(number)", token: token) }
            try await stores.waitTwoDays()
            let sent = Timestamp.now()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (number, token) in tokens.enumerated() {
                    group.addTask { try await stores.register("phone-\(number)", token: token) }
                }
                for _ in 0..<4 {
                    group.addTask { _ = try await stores.judge(tokens.shuffled(), at: sent) }
                }
                try await group.waitForAll()
            }
            // A phone whose registration came first was unchanged, seen now, and is not touched by what was true before.
            for number in tokens.indices {
                #expect(try await stores.installation("phone-\(number)")?.state == .active)
            }
            #expect(try await RegistryVerifier(stores.configuration).verify().isIntact)
        }
    }

    /// The registration holds the row while the feedback comes in: the feedback waits, and then finds it out of date.
    @Test func feedback_isOutdated_whenARegistrationCommitsWhileItWaits() async throws {
        try await TestStores.with { stores in
            try await stores.register("phone", token: token)
            try await stores.waitTwoDays()
            let counts = try await stores.postgres.withTransaction { registration in
                _ = try await registration.execute(
                    "UPDATE installation SET last_seen_at = clock_timestamp() + interval '1 second'")
                async let counts = stores.judge([token])
                try await stores.waitForBlockedSession()
                try await registration.commit()
                return try await counts
            }
            #expect(counts[.outdated] == 1)
        }
    }

    /// The token goes from one row to another, of which the statement that waits for the first one sees neither.
    @Test func token_isNotUnknown_whenItMovesWhileTheFeedbackWaits() async throws {
        try await TestStores.with { stores in
            try await stores.register("old", token: token)
            try await stores.register("new", token: "bbbbbbbbbbbbbbbb")
            try await stores.waitTwoDays()
            let counts = try await stores.postgres.withTransaction { takeover in
                _ = try await takeover.execute(
                    """
                    UPDATE installation SET token = NULL, token_sha256 = NULL, state = 'superseded'
                    WHERE install_id = 'old'
                    """)
                _ = try await takeover.execute(
                    PostgresStatement(
                        """
                        UPDATE installation SET token = \(token), token_sha256 = \(TestStores.sha256(Array(token.utf8)))
                        WHERE install_id = 'new'
                        """))
                async let counts = stores.judge([token])
                try await stores.waitForBlockedSession()
                try await takeover.commit()
                return try await counts
            }
            #expect(counts[.unregistered] == 1 && counts[.unknown] == 0)
            #expect(try await stores.installation("new")?.state == .unregistered)
        }
    }

    @Test func tenThousandItems_areCountedOnce_each() async throws {
        try await TestStores.with { stores in
            try await stores.register("phone", token: token)
            try await stores.waitTwoDays()
            let items = [token] + (0..<9_998).map { "bbbbbbbbbbbb" + String($0 + 10_000) } + [token]
            let counts = try await stores.judge(items)
            #expect(counts[.unregistered] == 1 && counts[.unknown] == 9_998 && counts[.ignored] == 1)
            #expect(FeedbackOutcome.allCases.reduce(0) { $0 + counts[$1] } == items.count)
        }
    }
}

extension TestStores {
    /// Until a session waits for a row that another one has locked.
    func waitForBlockedSession() async throws {
        while try await sql("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")[0].decode(
            0, as: Int.self) == 0
        {
            try await Task.sleep(for: .milliseconds(2))
        }
    }
}
