import Basics
import PostgresClient
import PushRegistry
import RegistryTestSupport
import Testing

@testable import RegistryJobs
@testable import RegistryStore

@Suite("Tokens of a version without addresses are identified by their addresses, beside the service (R1)", .stores)
struct ReaddressingTests {
    private let stores = TestStores.lent!

    /// The id of a phone.
    private static func fid(_ number: Int) -> String { "d" + String(100_000_000_000_000_000_000 + UInt128(number)) }

    private func run(_ stores: TestStores, pagesPerRead: Int64 = 1) async throws -> Readdressing.Counts {
        try await PostgresSession.withSession(stores.configuration) { session in
            try session.run(script: CleanUpStatements.sessionSettings)
            let job = Readdressing(
                session: session, nodes: try CleanUpNodes(session), actor: "job:test", pagesPerRead: pagesPerRead)
            return try job.run { _, _ in }
        }
    }

    @Test func token_isFoundByItsAddress_andItsRegistrationIsUnchanged() async throws {
        let token = Self.fid(1) + ":APA91b"
        try await stores.registerOld("phone", token)
        try await stores.registerOld("legacy", "no-address:APA91b")
        try await stores.register("done", token: Self.fid(2) + ":APA91b", of: .fcm)
        let before = try #require(try await stores.installation("phone"))
        let counts = try await run(stores)
        #expect(counts == Readdressing.Counts(found: 1, tokens: 1, superseded: 0))
        var expected = before
        expected.tokenSHA256 = TestStores.sha256(Array(Self.fid(1).utf8))
        #expect(try await stores.installation("phone") == expected)
        try await stores.expectIntact()
        #expect(try await stores.register("phone", token: token, of: .fcm).status == .unchanged)
        let address = TokenAddress(app: stores.app.number, provider: .fcm, sha256: expected.tokenSHA256!)
        let page = try await stores.events.events(of: address, before: nil, limit: 9)
        #expect(page.events.map(\.kind) == ["registered"])
        #expect(try await run(stores) == Readdressing.Counts())
    }

    @Test func onePhone_isOneInstallation_thatOfTheNewerRegistration() async throws {
        try await stores.registerOld("old", Self.fid(1) + ":a", as: "alice")
        try await stores.registerOld("new", Self.fid(1) + ":b", as: "bob")
        try await stores.registerOld("older", Self.fid(2) + ":a")
        try await stores.register("newest", token: Self.fid(2), of: .fcm)
        let counts = try await run(stores)
        #expect(counts == Readdressing.Counts(found: 3, tokens: 1, superseded: 2))
        let states = try await stores.column(
            "SELECT install_id || ' ' || state || coalesce(' ' || token, '') FROM installation ORDER BY 1")
        #expect(
            states == [
                "new active \(Self.fid(1)):b", "newest active \(Self.fid(2))", "old superseded",
                "older superseded",
            ])
        let page = try #require(try await stores.events.events(of: stores.key("old"), before: nil, limit: 9))
        #expect(page.events.map(\.kind) == ["superseded", "registered"])
        #expect(page.events[0].reason == "tokenMoved" && page.events[0].actor == "job:test")
        #expect(page.events.allSatisfy { $0.tokenSHA256 == TestStores.sha256(Array(Self.fid(1).utf8)) })
        try await stores.expectIntact()
    }

    @Test func run_goesOnWhereAnotherOneWasInterrupted() async throws {
        for number in 0..<60 { try await stores.registerOld("i-\(number)", Self.fid(number) + ":a") }
        try await stores.fail(changesOf: "installation", when: "NEW.install_id = 'i-47'")
        await #expect(throws: PostgresError.self) { _ = try await run(stores) }
        let left = try await stores.countOld()
        #expect((1..<60).contains(left), "\(left) are left")
        _ = try await stores.sql("DROP TRIGGER fail ON installation")
        #expect(try await run(stores) == Readdressing.Counts(found: left, tokens: left, superseded: 0))
        #expect(try await stores.countOld() == 0)
        try await stores.expectIntact()
    }

    /// The others are written without it, and the next run finds it.
    @Test func lockedInstallation_isLeftForTheNextRun() async throws {
        for number in 0..<9 { try await stores.registerOld("i-\(number)", Self.fid(number) + ":a") }
        try await stores.postgres.withTransaction { other in
            _ = try await other.execute("SELECT FROM installation WHERE install_id = 'i-4' FOR UPDATE")
            #expect(try await run(stores) == Readdressing.Counts(found: 9, tokens: 8, superseded: 0))
        }
        #expect(try await run(stores) == Readdressing.Counts(found: 1, tokens: 1, superseded: 0))
        try await stores.expectIntact()
    }

    /// Phones register again, with the same text, another spelling or another snapshot, under their own ids and new
    /// ones, while the job runs.
    @Test func data_isIntact_whenPhonesRegisterMeanwhile() async throws {
        for round in 0..<4 {
            for number in 0..<40 {
                try await stores.registerOld("i-\(round)-\(number)", Self.fid(number + 100 * round) + ":a", as: "u")
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for client in 0..<16 {
                    group.addTask {
                        var dice = SeededGenerator(seed: UInt64(100 * round + client))
                        for _ in 0..<12 {
                            let number = dice.below(40)
                            let end = dice.element(of: ["", ":a", ":b"])
                            let installID = "i-\(round)-\(dice.isTrue(0.7) ? number : number + 40)"
                            try await stores.register(
                                installID, token: Self.fid(number + 100 * round) + end, of: .fcm,
                                as: dice.element(of: ["u", "v"]), systemVersion: "26.\(dice.below(3))")
                        }
                    }
                }
                group.addTask { _ = try await run(stores) }
                try await group.waitForAll()
            }
            _ = try await run(stores)
            #expect(try await stores.countOld() == 0)
            try await stores.expectIntact()
        }
    }

    @Test func nightJob_saysHowMany_untilARunHasFoundNothing() async throws {
        try await stores.registerOld("a", Self.fid(1) + ":a")
        try await stores.registerOld("b", Self.fid(1) + ":b")
        let first = try await stores.cleanUp()
        #expect(first.readdressed == Readdressing.Counts(found: 2, tokens: 1, superseded: 1))
        #expect(try await stores.cleanUp().readdressed == Readdressing.Counts())
        // Nobody looks any more: this row would be found.
        try await stores.registerOld("c", Self.fid(2) + ":a")
        #expect(try await stores.cleanUp().readdressed == Readdressing.Counts())
        let counts = try await Readdressing.run(stores.configuration) { _, _ in }
        #expect(counts == Readdressing.Counts())
        #expect(try await stores.column("SELECT readdressed::text FROM cleanup_run WHERE id <= 2") == ["2", "0"])
    }

    @Test func nightJobOfSomeApps_leavesItToTheWholeOne() async throws {
        try await stores.registerOld("a", Self.fid(1) + ":a")
        let app = try AppID("com.example.mail")
        #expect(try await stores.cleanUp { $0.apps = [app] }.readdressed == Readdressing.Counts())
        #expect(try await stores.cleanUp().readdressed.tokens == 1)
    }

    @Test func migrate_doesIt_withAnActorOfItsOwn() async throws {
        try await stores.registerOld("a", Self.fid(1) + ":a")
        try await stores.registerOld("b", Self.fid(1) + ":b")
        let parts = Locked(0)
        let counts = try await Readdressing.run(stores.configuration) { _, all in parts.withLock { $0 = all } }
        #expect(counts == Readdressing.Counts(found: 2, tokens: 1, superseded: 1) && parts.withLock { $0 } == 1)
        let actors = try await stores.column("SELECT actor FROM token_event WHERE event = 'superseded'")
        #expect(actors == ["job:migrate"])
    }
}

extension TestStores {
    /// As a version without addresses registered it: identified by the whole text.
    func registerOld(_ installID: String, _ token: String, as user: String? = nil) async throws {
        try await register(installID, token: "no-address-of-\(installID)", of: .fcm, as: user)
        let digest = Self.sha256(Array(token.utf8))
        _ = try await sql(
            "UPDATE installation SET token = \(token), token_sha256 = \(digest) WHERE install_id = \(installID)")
        for table in ["token_holder", "token_event"] {
            _ = try await sql(
                PostgresStatement(
                    "UPDATE \(identifier: table) SET token_sha256 = \(digest) WHERE install_id = \(installID)"))
        }
    }

    fileprivate func countOld() async throws -> Int {
        try await sql(
            """
            SELECT count(*) FROM installation
            WHERE token_sha256 = sha256(convert_to(token, 'UTF8')) AND token LIKE '%:%'
            """)[0].decode(0)
    }
}
