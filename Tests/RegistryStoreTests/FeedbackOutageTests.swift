import Foundation
import PostgresClient
import PushRegistry
import RegistryJobs
import RegistryTestSupport
import Testing

@testable import RegistryStore

/// `PUSH_REGISTRY_TEST_OUTAGE` is the number of installations.
@Suite("A provider's outage costs few installations, and none for good (R9)", .stores)
struct FeedbackOutageTests {
    private let stores = TestStores.lent!

    private static let count =
        ProcessInfo.processInfo.environment["PUSH_REGISTRY_TEST_OUTAGE"].flatMap { Int($0) } ?? 3_000

    private func token(_ number: Int) -> String { "aaaaaaaaaa" + String(100_000_000 + number) }

    /// Active installations that were seen two days ago.
    private func register(_ count: Int, _ stores: TestStores) async throws {
        for start in stride(from: 0, to: count, by: 500) {
            try await atOnce(start..<min(start + 500, count)) { number in
                try await stores.register("phone-\(number)", token: token(number))
            }
        }
        try await stores.waitTwoDays()
    }

    private func report(_ numbers: some Sequence<Int>, to app: App, _ stores: TestStores) async throws -> FeedbackCounts
    {
        let items = try numbers.map { try stores.item(token($0)) }
        return try await stores.feedback.apply(Feedback(of: app, items: items, actor: "sender:test"))
    }

    private func states(_ stores: TestStores) async throws -> [String: Int] {
        let rows = try await stores.sql("SELECT state::text, count(*) FROM installation GROUP BY 1")
        return try Dictionary(uniqueKeysWithValues: rows.map { (try $0.decode(0), try $0.decode(1, as: Int.self)) })
    }

    /// Four senders report 40 % of the installations.
    private func outage(_ stores: TestStores) async throws -> (app: App, reported: Int, believed: Int) {
        let app = try stores.app(breakingAbove: 100, share: 0.05)
        try await register(Self.count, stores)
        let reported = Self.count * 2 / 5
        let totals = try await stores.outage(of: reported, by: 4, inCallsOf: 50) {
            try await report($0, to: app, stores)
        }
        let believed = max(100, Self.count / 20)
        #expect(totals == [believed, reported - believed])
        return (app, reported, believed)
    }

    @Test func outage_losesTheShare_andRestoreBringsAllBack() async throws {
        let began = Timestamp(
            try await stores.sql("SELECT clock_timestamp()")[0].decode(0, as: PostgresTimestamp.self))
        let (app, reported, believed) = try await outage(stores)
        #expect(
            try await states(stores) == [
                "active": Self.count - reported, "unregistered": believed, "suspect": reported - believed,
            ])
        #expect(try await stores.openBreakers() == ["feedback:com.example.mail:apns"])
        // Senders repeat what they have reported.
        let again = try await report(0..<100, to: app, stores)
        #expect(again[.ignored] == 100)
        // One registers again, one moves, one is logged out.
        try await stores.register("phone-0", token: token(0))
        try await stores.register("thief", token: token(1))
        _ = try await stores.sql(
            """
            UPDATE installation SET generation = generation + 1, revision = revision + 1
            WHERE install_id = 'phone-2'
            """)
        #expect(try await stores.repair(.restore(since: began), isDryRun: true) == reported - 3)
        #expect(try await stores.repair(.restore(since: began)) == reported - 3)
        #expect(try await stores.repair(.restore(since: began)) == 0)
        #expect(try await states(stores)["active"] == Self.count - 1)
        #expect(try await stores.openBreakers() == [])
        let page = try #require(try await stores.events.events(of: stores.key("phone-3"), before: nil, limit: 1))
        #expect(page.events.first?.kind == "reactivated" && page.events.first?.reason == "feedbackRestored")
        #expect(page.events.first?.actor == "admin:test")
    }

    /// 32 calls of one item at once, as many as may wait: not one more passes than the share allows.
    @Test func calls_atTheSameTime_doNotPassTogether() async throws {
        let app = try stores.app(breakingAbove: 0, share: 0.25)
        for round in 0..<3 {
            if round == 0 {
                try await register(32, stores)
            } else {
                _ = try await stores.sql("DELETE FROM feedback_breaker")
                for number in 0..<32 { try await stores.register("phone-\(number)", token: token(number)) }
                try await stores.waitTwoDays()
            }
            let outcomes = try await withThrowingTaskGroup(of: FeedbackCounts.self) { group in
                for number in 0..<32 { group.addTask { try await report([number], to: app, stores) } }
                return try await group.reduce(into: [0, 0]) { sums, counts in
                    sums[0] += counts[.unregistered]
                    sums[1] += counts[.held]
                }
            }
            #expect(outcomes == [8, 24])
            let row = try await stores.sql("SELECT dead, held_since IS NOT NULL FROM feedback_breaker")[0]
            #expect(try row.decode(0, as: Int64.self) == 32 && row.decode(1, as: Bool.self))
        }
        try await stores.expectIntact()
    }

    @Test func nextHour_believesAgain() async throws {
        let app = try stores.app(breakingAbove: 2, share: 0.1)
        try await register(10, stores)
        let first = try await report(0..<4, to: app, stores)
        #expect(first[.unregistered] == 2 && first[.held] == 2 && first.opened == [.init(.apns)])
        let second = try await report([4], to: app, stores)
        #expect(second[.held] == 1 && second.opened.isEmpty)
        _ = try await stores.sql(
            """
            UPDATE feedback_breaker SET hour_began = hour_began - interval '1 hour',
                held_since = held_since - interval '1 hour', last_held_at = last_held_at - interval '1 hour'
            """)
        #expect(try await stores.openBreakers() == [])
        #expect(try await report([5], to: app, stores)[.unregistered] == 1)
        // What an earlier hour holds is still there.
        #expect(try await stores.repair(.release) == 3)
        try await stores.expectIntact()
    }

    /// A dead verdict on an app that was seen shortly before only makes it suspect.
    @Test func restore_isAboutAllDeadVerdicts_andNoDoubtfulOne() async throws {
        try await register(5, stores)
        for number in 0..<5 { try await stores.register("phone-\(number)", token: token(number)) }
        let began = Timestamp(
            try await stores.sql("SELECT clock_timestamp()")[0].decode(0, as: PostgresTimestamp.self))
        #expect(try await stores.judge([token(3)], "BadDeviceToken")[.suspect] == 1)
        let counts = try await report(0..<3, to: try stores.app(breakingAbove: 1, share: 0.3), stores)
        #expect(counts[.suspect] == 1 && counts[.held] == 2)
        let page = try #require(try await stores.events.events(of: stores.key("phone-0"), before: nil, limit: 1))
        #expect(page.events.first?.reason == "recentlySeen")
        #expect(try await stores.repair(.release, isDryRun: true) == 2)
        #expect(try await stores.repair(.restore(since: began), of: .fcm) == 0)
        #expect(try await stores.repair(.restore(since: began), isDryRun: true) == 3)
        #expect(try await stores.repair(.restore(since: began)) == 3)
        #expect(try await states(stores) == ["active": 4, "suspect": 1])
        try await stores.expectIntact()
    }

    /// R6: it got no pushes before the outage.
    @Test func restore_leavesWhoWasLoggedOutBeforeTheVerdict() async throws {
        for (number, user) in ["alice", "bob", nil, "carol"].enumerated() {
            try await stores.register("phone-\(number)", token: token(number), as: user)
        }
        for number in [0, 2] { try await stores.logOut("phone-\(number)") }
        try await stores.logOut("phone-3", keepsAnonymous: true)
        try await stores.waitTwoDays()
        let began = Timestamp(microseconds: 0)
        #expect(try await report(0..<4, to: stores.app, stores)[.unregistered] == 4)
        #expect(try await stores.repair(.restore(since: began), isDryRun: true) == 2)
        #expect(try await stores.repair(.restore(since: began)) == 2)
        #expect(
            try await stores.column("SELECT install_id FROM installation WHERE state = 'active' ORDER BY 1")
                == ["phone-1", "phone-3"])
        try await stores.expectIntact()
    }

    /// Senders write the breaker's row all the time.
    @Test func release_waitsForTheBreaker() async throws {
        try await register(2, stores)
        #expect(try await report(0..<2, to: try stores.app(breakingAbove: 0, share: 0.5), stores)[.held] == 1)
        try await stores.postgres.holding("SELECT FROM feedback_breaker FOR UPDATE") {
            let released = try await stores.repair(.release)
            #expect(released == 1)
        }
        #expect(try await stores.openBreakers() == [])
    }

    @Test func heldVerdict_thatNobodyCouldRelease_isFound() async throws {
        try await register(2, stores)
        #expect(try await report(0..<2, to: try stores.app(breakingAbove: 0, share: 0.5), stores)[.held] == 1)
        try await stores.expectIntact()
        _ = try await stores.sql("UPDATE feedback_breaker SET held_since = NULL, last_held_at = NULL")
        let report = try await RegistryVerifier(stores.configuration).verify()
        #expect(report.findings.filter { $0.broken > 0 }.map(\.invariant.name) == ["held-verdict"])
    }

    /// Below the count there is no look-up of the roll-up, and no lock of a row before the last statement.
    @Test func feedbackBelowTheLimits_isWrittenWithoutLocks() async throws {
        try await register(3, stores)
        let item = { number in try stores.item(token(number)) }
        for number in 0..<2 {
            let feedback = Feedback(of: stores.app, items: [try item(number)], actor: "sender:test")
            var wanted = LockedFeedback.TypedSubjects()
            let counts = try await stores.feedback.applyUnlocked(feedback, wanting: &wanted)
            #expect(counts[.unregistered] == 1)
        }
        #expect(try await stores.sql("SELECT dead FROM feedback_breaker")[0].decode(0, as: Int64.self) == 2)
    }
}
