import PostgresClient
import PushRegistry
import RegistryTestSupport
import Testing

@testable import RegistryJobs
@testable import RegistryStore

@Suite("History has its partitions, and making or dropping them stops nobody (R12)", .stores)
struct HistoryPartitionTests {
    private let stores = TestStores.lent!

    /// As if no partition had been created for months.
    private func forgetPartitions(_ stores: TestStores) async throws {
        for name in try await stores.column("SELECT name FROM time_partition WHERE name ~ '^(token|settings)'") {
            _ = try await stores.sql("DROP TABLE \(identifier: name)")
        }
    }

    private func makePartition(_ first: String, _ end: String, _ stores: TestStores) async throws {
        _ = try await stores.sql(
            "SELECT make_partition('token_event', \(first + "Z")::timestamptz, \(end + "Z")::timestamptz)")
    }

    private func rows(_ table: String, in stores: TestStores) async throws -> Int {
        try await stores.sql("SELECT count(*) FROM \(identifier: table)")[0].decode(0)
    }

    /// The bounds of partitions are read as text.
    @Test func partitions_areFound_whateverTheRolesDefaultsAre() async throws {
        for setting in [
            "datestyle = 'SQL, DMY'", "timezone = 'Asia/Kolkata'",
            "default_transaction_isolation = 'repeatable read'", "synchronous_commit = off",
            "standard_conforming_strings = off",
        ] {
            _ = try await stores.sql("ALTER ROLE CURRENT_USER SET \(sql: PostgresSQL(trusted: setting))")
        }
        #expect(try await Partitions.make(on: stores.configuration) == 0)
        let settings = try await PostgresSession.withSession(stores.configuration) { session in
            try ["TimeZone", "transaction_isolation", "synchronous_commit", "standard_conforming_strings"].map {
                try session.execute("SELECT current_setting(\($0))")[0].decode(0, as: String.self)
            }
        }
        #expect(settings == ["Asia/Kolkata", "read committed", "on", "on"])
    }

    /// Those of the present month stay in the default partition.
    @Test func monthsToCome_areMade_besideRowsOfTheDefaultPartition_whileOthersWrite() async throws {
        try await forgetPartitions(stores)
        try await stores.fill(30)
        _ = try await stores.sql("UPDATE token_event SET at = at - interval '40 days' WHERE install_id = 'i-0'")
        async let writing: Void = {
            for number in 30..<130 {
                try await stores.register("i-\(number)", token: "aaaaaaaaaaaa" + String(1_000 + number))
            }
        }()
        // Of events the three or four months to come, of snapshots also the present one.
        #expect((7...9).contains(try await Partitions.make(on: stores.configuration)))
        try await writing
        #expect(try await rows("token_event_default", in: stores) == 130)
        #expect(try await Partitions.make(on: stores.configuration) == 0)
        #expect(try await stores.sql("SELECT FROM pg_constraint WHERE conname = 'partition_bounds'").isEmpty)
    }

    @Test func constraint_isRemoved_whenItsMakerWasCutShort() async throws {
        _ = try await stores.sql(
            "ALTER TABLE token_event_default ADD CONSTRAINT partition_bounds CHECK (at < '2020-01-01') NOT VALID")
        _ = try await Partitions.make(on: stores.configuration)
        #expect(try await stores.sql("SELECT FROM pg_constraint WHERE conname = 'partition_bounds'").isEmpty)
    }

    @Test func run_isDone_whenPartitionsCannotBeMadeForALock() async throws {
        try await forgetPartitions(stores)
        let report = try await stores.postgres.withTransaction { reader in
            _ = try await reader.execute("SELECT count(*) FROM token_event, settings_snapshot")
            return try await stores.cleanUp()
        }
        #expect(report.partitionsMade == 0)
        #expect(try await CleanUp(stores.configuration).runs(limit: 1).map(\.outcome) == ["done"])
        #expect((8...10).contains(try await stores.cleanUp().partitionsMade))
    }

    /// Events of the same month went into two partitions, since a clock went back: positions do not ascend with months.
    @Test func reader_learnsThatEventsAreGone_whateverMonthTheyWereFiledUnder() async throws {
        try await makePartition("2020-01-01", "2020-02-01", stores)
        try await stores.fill(3)
        let events = try await stores.events.changes(of: stores.app.number, after: nil, limit: 9)
        // The second one is filed in a month that is dropped.
        _ = try await stores.sql("UPDATE token_event SET at = '2020-01-15' WHERE install_id = 'i-1'")
        #expect(try await stores.cleanUp().partitionsDropped == 1)
        await #expect(throws: EventRefusal.cursorExpired) {
            _ = try await stores.events.changes(of: stores.app.number, after: events[0].cursor, limit: 9)
        }
        let rest = try await stores.events.changes(of: stores.app.number, after: events[1].cursor, limit: 9)
        #expect(rest.map(\.installID) == ["i-2"])
    }

    /// Another session drops a month while the reader's query waits for the table.
    @Test func reader_learnsThatEventsAreGone_whenTheyAreDroppedWhileItReads() async throws {
        try await makePartition("2020-01-01", "2020-02-01", stores)
        try await stores.fill(3)
        let events = try await stores.events.changes(of: stores.app.number, after: nil, limit: 9)
        _ = try await stores.sql("UPDATE token_event SET at = '2020-01-15' WHERE install_id = 'i-1'")
        // A service's session would not wait for so long.
        let postgres = PostgresClient(
            stores.configuration, on: stores.postgres.loop, limits: .init(connectionsMin: 0, connectionsMax: 2),
            logger: TestStores.quiet)
        async let _ = postgres.run()
        let reader = PostgresEventStore(LoopResources(postgres: postgres))
        let reading = try await stores.postgres.withTransaction { job in
            _ = try await job.execute("LOCK TABLE ONLY token_event IN ACCESS EXCLUSIVE MODE")
            let reading = Task {
                try await reader.changes(of: stores.app.number, after: events[0].cursor, limit: 9)
            }
            try await stores.waitForBlockedSession()
            _ = try await job.execute(
                "INSERT INTO dropped_history SELECT app_id, position, id FROM token_event_2020_01")
            _ = try await job.execute("DROP TABLE token_event_2020_01")
            return reading
        }
        await #expect(throws: EventRefusal.cursorExpired) { _ = try await reading.value }
    }

    @Test func oldRowsOfTheDefaultPartition_areRemoved_andReadersLearnOfIt() async throws {
        try await stores.fill(3)
        let events = try await stores.events.changes(of: stores.app.number, after: nil, limit: 9)
        _ = try await stores.sql("UPDATE token_event SET at = '2019-01-15' WHERE install_id <> 'i-2'")
        #expect(try await stores.cleanUp().historyRemoved == 2)
        await #expect(throws: EventRefusal.cursorExpired) {
            _ = try await stores.events.changes(of: stores.app.number, after: events[0].cursor, limit: 9)
        }
    }
}
