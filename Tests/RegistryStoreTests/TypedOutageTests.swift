import PostgresClient
import PushRegistry
import RegistryJobs
import RegistryTestSupport
import Testing

@testable import RegistryStore

@Suite("A provider's outage costs few typed tokens, and what it holds is not handed out (R9)", .stores)
struct TypedOutageTests {
    private let stores = TestStores.lent!

    private static let count = 400
    private static let reported = 160
    /// Both limits are 20.
    private static let believed = 20

    private func tokens(_ number: Int) throws -> [SentTypedToken] {
        [try .make(.voip, "voip-\(number)"), try .make(.widget, "widget-\(number)")]
    }

    private func register(_ number: Int, as phone: String? = nil, _ stores: TestStores) async throws
        -> RegistrationOutcome
    {
        try await stores.register(
            phone ?? "phone-\(number)", token: "aaaaaaaaaa" + String(100_000_000 + number), tokens: tokens(number))
    }

    private func registerAll(_ stores: TestStores, count: Int = Self.count) async throws {
        try await atOnce(0..<count) { number in _ = try await register(number, stores) }
    }

    private func report(
        _ numbers: some Sequence<Int>, to app: App, kind: TokenKind = .voip, _ stores: TestStores
    ) async throws -> FeedbackCounts {
        let items = try numbers.map { number in
            let sent = try SentTypedToken.make(kind, "\(kind.rawValue)-\(number)")
            return FeedbackItem(
                installID: nil, provider: .apns,
                addresses: [TokenAddress(app: app.number, provider: .apns, sha256: sent.sha256)],
                reason: "Unregistered", kind: kind)
        }
        return try await stores.feedback.apply(Feedback(of: app, items: items, actor: "sender:test"))
    }

    /// Eight senders report 160 of the 400 VoIP tokens.
    private func outage(_ stores: TestStores) async throws -> App {
        let app = try stores.app(breakingAbove: 20, share: 0.05)
        try await registerAll(stores)
        let totals = try await stores.outage(of: Self.reported, by: 8, inCallsOf: 3) {
            try await report($0, to: app, stores)
        }
        #expect(totals == [Self.believed, Self.reported - Self.believed])
        return app
    }

    private func handedOut(_ kind: TokenKind, _ stores: TestStores) async throws -> Int {
        let audience = Audience(
            app: stores.app.number, filter: .everybody, include: .active, tokens: HandedOutTokens(kind, name: nil))
        return Int(try await stores.audiences.count(audience, explains: false).count)
    }

    private func held(_ stores: TestStores) async throws -> [Int] {
        try await stores.sql("SELECT install_id FROM typed_token WHERE held ORDER BY 1").map {
            try #require(Int(try $0.decode(0, as: String.self).dropFirst(6)))
        }
    }

    private func time(_ stores: TestStores) async throws -> Timestamp {
        Timestamp(try await stores.sql("SELECT clock_timestamp()")[0].decode(0, as: PostgresTimestamp.self))
    }

    @Test func outage_losesTheShare_andRestoreHandsOutTheRest() async throws {
        let began = try await time(stores)
        let app = try await outage(stores)
        let held = try await held(stores)
        try #require(held.count == Self.reported - Self.believed)
        #expect(try await handedOut(.voip, stores) == Self.count - Self.reported)
        #expect(try await handedOut(.widget, stores) == Self.count)
        #expect(try await stores.openBreakers() == ["feedback:com.example.mail:apns"])
        try await stores.expectIntact()
        // Senders repeat what they have reported, and another kind has an hour of its own.
        #expect(try await report(held, to: app, stores)[.ignored] == held.count)
        let widgets = Self.reported..<Self.reported + 3
        #expect(try await report(widgets, to: app, kind: .widget, stores)[.unregistered] == 3)
        // One registers again, one moves, and the main token of one dies.
        #expect(try await register(held[0], stores).status == .updated)
        #expect(try await register(held[1], as: "thief", stores).status != .unchanged)
        try await stores.waitTwoDays()
        #expect(try await stores.judge(["aaaaaaaaaa" + String(100_000_000 + held[2])])[.unregistered] == 1)
        #expect(try await self.held(stores) == Array(held[3...]))
        #expect(try await stores.repair(.restore(since: time(stores))) == 0)
        #expect(try await stores.repair(.restore(since: began), of: .apnsSandbox) == 0)
        // The main token is restored, too, without its set.
        #expect(try await stores.repair(.restore(since: began), isDryRun: true) == held.count - 2)
        #expect(try await self.held(stores).count == held.count - 3)
        #expect(try await stores.openBreakers() == ["feedback:com.example.mail:apns"])
        #expect(try await stores.repair(.restore(since: began)) == held.count - 2)
        #expect(try await stores.repair(.restore(since: began)) == 0)
        #expect(try await self.held(stores).isEmpty)
        #expect(try await stores.openBreakers() == [])
        #expect(try await handedOut(.voip, stores) == Self.count - Self.believed - 1)
        try await stores.expectIntact()
    }

    /// Tokens of both environments that are held since different times or not at all, and some that have expired.
    @Test func dryRun_countsWhatTheDecisionChanges() async throws {
        try await registerAll(stores, count: 40)
        let since = try await time(stores).preceding(by: .hours(1))
        for decision in [FeedbackRepair.Decision.restore(since: since), .release] {
            _ = try await stores.sql(
                """
                UPDATE typed_token t SET held = n % 4 <> 0, received_at = now() - interval '3 hours',
                    provider = (CASE WHEN n % 5 = 0 THEN 'apnsSandbox' ELSE 'apns' END)::provider,
                    held_at = CASE WHEN n % 3 <> 0 THEN now() - n % 2 * interval '2 hours' END,
                    expires_at = CASE WHEN n % 7 < 2 THEN now() + (n % 7 - 0.5) * interval '1 day' END
                FROM (SELECT install_id, substr(install_id, 7)::integer AS n FROM installation) AS i
                WHERE t.install_id = i.install_id
                """)
            for provider in [Provider.apns, .apnsSandbox] {
                let counted = try await stores.repair(decision, of: provider, isDryRun: true)
                #expect(counted > 0)
                #expect(try await stores.repair(decision, of: provider) == counted)
                #expect(try await stores.repair(decision, of: provider, isDryRun: true) == 0)
            }
        }
    }

    @Test func installationAndToken_thatAreBothHeld_countAsTwo() async throws {
        let app = try stores.app(breakingAbove: 0, share: 0.1)
        try await registerAll(stores, count: 4)
        try await stores.waitTwoDays()
        let mains = try (0..<4).map { try stores.item("aaaaaaaaaa" + String(100_000_000 + $0)) }
        func outage() async throws {
            #expect(try await report(0..<4, to: app, stores)[.held] == 4)
            let counts = try await stores.feedback.apply(Feedback(of: app, items: mains, actor: "sender:test"))
            #expect(counts[.held] == 4)
            #expect(try await handedOut(.widget, stores) == 0)
        }
        let since = try #require(Timestamp("2026-01-01T00:00:00Z"))
        try await outage()
        #expect(try await stores.repair(.restore(since: since), isDryRun: true) == 8)
        #expect(try await stores.repair(.restore(since: since)) == 8)
        #expect(try await handedOut(.voip, stores) == 4)
        try await outage()
        #expect(try await stores.repair(.release, isDryRun: true) == 8)
        #expect(try await stores.repair(.release) == 8)
        #expect(try await stores.sql("SELECT FROM typed_token").isEmpty)
        try await stores.expectIntact()
    }

    /// Few installations have a Live Activity: the share is of the kind's tokens, not of the installations.
    @Test func share_isOfTheTokensOfTheKind_thatAreHandedOut() async throws {
        try await registerAll(stores, count: 10)
        _ = try await stores.sql(
            "DELETE FROM typed_token WHERE kind = 'voip' AND install_id > 'phone-3'")
        let counts = try await report(0..<4, to: try stores.app(breakingAbove: 0, share: 0.5), stores)
        #expect(counts[.unregistered] == 2 && counts[.held] == 2)
        #expect(counts.opened == [.init(.apns, kind: "voip")])
    }

    /// Of twelve phones, eight are suspect, and the sessions of two have expired.
    @Test func share_isOfTheTokens_thatReachTheirInstallations() async throws {
        try await registerAll(stores, count: 12)
        try await stores.waitTwoDays()
        let doubtful = (0..<8).map { "aaaaaaaaaa" + String(100_000_000 + $0) }
        #expect(try await stores.judge(doubtful, "BadDeviceToken")[.suspect] == 8)
        _ = try await stores.sql(
            """
            UPDATE installation
            SET user_id = 'alice', session_id = 's', session_expires_at = now() - interval '1 hour'
            WHERE install_id IN ('phone-8', 'phone-9')
            """)
        let counts = try await report(10..<12, to: try stores.app(breakingAbove: 1, share: 0.5), stores)
        #expect(counts[.unregistered] == 1 && counts[.held] == 1)
    }
}
