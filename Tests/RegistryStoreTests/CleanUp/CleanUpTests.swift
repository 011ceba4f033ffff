import Basics
import PostgresClient
import PushRegistry
import RegistryTestSupport
import Testing

@testable import RegistryJobs
@testable import RegistryStore

@Suite("The night job works in small steps, each of them durable and over at once", .stores)
struct CleanUpTests {
    private let stores = TestStores.lent!

    @Test func plan_isReadInParts_withoutATransactionThatOthersWaitFor() async throws {
        try await stores.fill(400)
        var options = CleanUp.Options()
        (options.pagesPerRead, options.isDryRun) = (4, true)
        let open = Locked<[Int]>([])
        let configuration = stores.configuration
        let report = try await CleanUp(configuration).run(options) { progress in
            guard case .reading = progress else { return }
            let count = try? aside(configuration) {
                try $0.execute("SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'")[0]
                    .decode(0, as: Int.self)
            }
            open.withLock { $0.append(count ?? 1) }
        }
        let found = open.withLock { $0 }
        #expect(found.count > 4 && found.allSatisfy { $0 == 0 })
        #expect(report.apps.map(\.active) == [400] && report.counts.total == 0)
    }

    /// A transaction id that a session has taken, and a snapshot that it holds, would stall the change feed and vacuum.
    @Test func reading_takesNoTransactionID() async throws {
        try await stores.register("phone", token: "aaaaaaaaaaaaaaaa")
        try await PostgresSession.withSession(stores.configuration) { session in
            let bounds = CleanUpStatements.bounds(
                [(stores.app.number, CleanUpBounds(.standard, asOf: .now()))])
            try session.run(script: "BEGIN")
            _ = try DueInstallations.read(PageRange(pages: 0..<64), bounds, withKeys: true, session)
            let isFree: Bool = try session.execute("SELECT pg_current_xact_id_if_assigned() IS NULL")[0].decode(0)
            #expect(isFree)
        }
    }

    @Test func batch_isOnDisk_beforeReadersOfChangesSeeIt() async throws {
        let commits = try await PostgresSession.withSession(stores.configuration) { session in
            try session.run(script: CleanUpStatements.sessionSettings)
            return try session.execute("SHOW synchronous_commit")[0].decode(0, as: String.self)
        }
        #expect(commits == "on")
    }

    /// The rest is read again. Parts of 8 keys end between ranges of pages.
    @Test(arguments: [0, 7, 20], [8, 100])
    func installations_areCleanedUp_howeverFewKeysAreKept(_ keysMax: Int, keysPerPart: Int) async throws {
        try await stores.fill(60)
        try await stores.makeStale()
        var options = CleanUp.Options()
        (options.breaker, options.pagesPerRead) = (CleanUpBreaker(maxShare: 1), 1)
        (options.keysMax, options.keysPerPart) = (keysMax, keysPerPart)
        let report = try await CleanUp(stores.configuration).run(options)
        #expect(report.counts[.stale] == 60)
        #expect(try await stores.column("SELECT DISTINCT state::text FROM installation") == ["stale"])
        try await stores.expectIntact()
    }

    /// Each delta costs the roll-up as much as an installation's row.
    @Test func installationsOfOneCell_haveOneDelta_onHoweverManyPagesTheyAre() async throws {
        // Fewer than a batch beside busy sessions.
        try await stores.fill(40)
        try await stores.makeStale()
        try await stores.fold()
        _ = try await stores.sql("DELETE FROM rollup_delta")
        let deltas = Locked<[Int]>([])
        let configuration = stores.configuration
        var options = CleanUp.Options()
        (options.breaker, options.pagesPerRead) = (CleanUpBreaker(maxShare: 1), 1)
        let report = try await CleanUp(configuration).run(options) { progress in
            guard case .upkeep = progress else { return }
            let count = try? aside(configuration) {
                try $0.execute("SELECT count(*)::integer FROM rollup_delta")[0].decode(0, as: Int.self)
            }
            deltas.withLock { $0.append(count ?? -1) }
        }
        #expect(report.counts[.stale] == 40)
        #expect(deltas.withLock { $0 } == [1])
    }

    /// A row stays locked: its neighbours are written without it, and the next night finds it due.
    @Test func heldInstallation_isLeftForTheNextNight_andTheOthersAreNot() async throws {
        try await stores.fill(20)
        try await stores.makeStale()
        let report = try await stores.postgres.withTransaction { holder in
            _ = try await holder.execute("SELECT FROM installation WHERE install_id = 'i-7' FOR UPDATE")
            return try await stores.cleanUp()
        }
        #expect(report.counts[.stale] == 19)
        #expect(try await stores.cleanUp().counts[.stale] == 1)
        try await stores.expectIntact()
    }

    @Test func tokensThatNobodyHolds_areForgotten_afterSupersedingAndPurging() async throws {
        for (name, digit, keychain) in [("old", "a", "k"), ("new", "b", "k"), ("gone", "c", "g")] {
            let token = String(repeating: digit, count: 16)
            try await stores.register(name, token: token, as: "alice", keychain: keychain)
        }
        try await stores.age("gone", by: "61 days")
        #expect(try await stores.cleanUp().counts[.stale] == 1)
        try await stores.age("old", by: "8 days")
        try await stores.age("gone", by: "31 days")
        let report = try await stores.cleanUp()
        #expect(report.counts[.superseded] == 1 && report.counts[.purged] == 1)
        #expect(
            try await stores.column("SELECT install_id FROM token_holder") == ["new"])
        let left = try await stores.column(
            "SELECT install_id FROM installation_owner WHERE left_at IS NOT NULL ORDER BY 1")
        #expect(left == ["gone"])
        // Events of the month in which the user left are kept until the whole month is past.
        let month: PostgresSQL = "date_trunc('month', now() - interval '400 days', 'UTC')"
        _ = try await stores.sql(
            "UPDATE installation_owner SET left_at = \(sql: month) WHERE left_at IS NOT NULL")
        _ = try await stores.cleanUp()
        #expect(try await stores.sql("SELECT FROM installation_owner WHERE left_at IS NOT NULL").count == 1)
        _ = try await stores.sql(
            """
            UPDATE installation_owner SET left_at = \(sql: month) - interval '1 second' WHERE left_at IS NOT NULL
            """)
        _ = try await stores.cleanUp()
        #expect(try await stores.sql("SELECT FROM installation_owner WHERE left_at IS NOT NULL").isEmpty)
        try await stores.expectIntact()
    }

    /// An erasure finds a user's digests by the rows of former owners.
    @Test func digestsOfAFormerOwner_areForgotten_withTheRowThatNamesTheUser() async throws {
        try await stores.register("phone", token: "aaaaaaaaaaaaaaaa", as: "alice")
        // The same snapshot.
        try await stores.register("phone", token: "aaaaaaaaaaaaaaaa", as: "bob")
        let sender: PostgresStatement = "SELECT FROM installation WHERE snapshot_sender IS NOT NULL"
        #expect(try await stores.sql(sender).count == 1)
        _ = try await stores.sql(
            "UPDATE installation_owner SET left_at = left_at - interval '440 days' WHERE left_at IS NOT NULL")
        _ = try await stores.cleanUp()
        #expect(try await stores.column("SELECT user_id FROM installation_owner") == ["bob"])
        #expect(try await stores.sql(sender).isEmpty)
        #expect(try await stores.sql("SELECT FROM installation WHERE registrant IS NOT NULL").count == 1)
        try await stores.expectIntact()
    }

    /// While many register, are judged, log out by expiry, and come back.
    @Test func data_isIntact_whenAllOfItRunsAtOnce() async throws {
        try await stores.fill(40)
        for round in 0..<6 {
            _ = try await stores.sql(
                """
                UPDATE installation SET revision = revision + 1, created_at = created_at - interval '61 days',
                    registered_at = registered_at - interval '61 days',
                    last_seen_at = last_seen_at - interval '61 days'
                WHERE state = 'active'
                """)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<40 where number % 3 == round % 3 {
                    group.addTask {
                        try await stores.register("i-\(number)", token: "aaaaaaaaaaaa" + String(1_039 - number))
                    }
                }
                group.addTask {
                    let run = try await stores.cleanUp().runID
                    if let run, round.isMultiple(of: 2) {
                        _ = try await CleanUp(stores.configuration).undo(run, process: "test")
                    }
                }
                group.addTask {
                    _ = try await stores.judge((0..<40).map { "aaaaaaaaaaaa" + String(1_000 + $0) })
                }
                try await group.waitForAll()
            }
            try await stores.expectIntact()
        }
    }
}

extension TestStores {
    /// `i-0`, `i-1`, …
    func fill(_ count: Int) async throws {
        for number in 0..<count {
            try await register("i-\(number)", token: "aaaaaaaaaaaa" + String(1_000 + number))
        }
    }

    func makeStale() async throws {
        _ = try await sql(
            """
            UPDATE installation SET created_at = created_at - interval '61 days',
                registered_at = registered_at - interval '61 days', last_seen_at = last_seen_at - interval '61 days'
            """)
    }

    /// Runs the job; the breaker lets everything go.
    @discardableResult
    func cleanUp(_ change: (inout CleanUp.Options) -> Void = { _ in }) async throws -> CleanUpReport {
        var options = CleanUp.Options()
        options.breaker = CleanUpBreaker(maxShare: 1)
        change(&options)
        return try await CleanUp(configuration).run(options)
    }

    func age(_ installID: String, by time: String) async throws {
        let columns = ["created_at", "registered_at", "last_seen_at", "state_changed_at"]
        let assignments = columns.map {
            "\(identifier: $0) = \(identifier: $0) - \(literal: time)::interval" as PostgresSQL
        }
        try await change(installID, assignments.joined(separator: ", "))
    }

    func change(_ installID: String, _ assignments: PostgresSQL) async throws {
        _ = try await sql("UPDATE installation SET \(sql: assignments) WHERE install_id = \(installID)")
    }

    func column(_ statement: PostgresStatement) async throws -> [String] {
        try await sql(statement).map { try $0.decode(0) }
    }

    /// Every invariant holds.
    func expectIntact(_ note: String = "", sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let report = try await RegistryVerifier(configuration).verify()
        let broken = report.findings.filter { $0.broken > 0 }.map { "\($0.invariant.name): \($0.examples)" }
        #expect(broken.isEmpty, "\(note)", sourceLocation: sourceLocation)
    }
}
