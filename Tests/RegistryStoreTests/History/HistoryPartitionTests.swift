import PostgresClient
import PushRegistry
import Testing

@testable import RegistryStore

@Suite("History has its partitions, and making or dropping them stops nobody (R12)")
struct HistoryPartitionTests {
    /// As if no partition had been created for months.
    private func forgetPartitions(_ stores: TestStores) async throws {
        for name in try await stores.column("SELECT name FROM history_partition") {
            _ = try await stores.sql("DROP TABLE \(identifier: name)")
        }
    }

    private func rows(_ table: String, in stores: TestStores) async throws -> Int {
        try await stores.sql("SELECT count(*) FROM \(identifier: table)")[0].decode(0)
    }

    @Test func defaultPartition_becomesItsMonths_withAllItsRows_whileOthersWrite() async throws {
        try await TestStores.with { stores in
            try await forgetPartitions(stores)
            try await stores.fill(30)
            _ = try await stores.sql("UPDATE token_event SET at = at - interval '40 days' WHERE install_id = 'i-0'")
            #expect(try await rows("token_event_default", in: stores) == 30)
            async let writing: Void = {
                for number in 30..<130 {
                    try await stores.register("i-\(number)", token: "aaaaaaaaaaaa" + String(1_000 + number))
                }
            }()
            // The default partition of events counts, and the months after it; of snapshots there are none.
            #expect(try await HistoryPartitions.make(on: stores.configuration) >= 8)
            try await writing
            #expect(try await rows("token_event_default", in: stores) == 0)
            #expect(try await rows("token_event", in: stores) == 130)
            #expect(try await HistoryPartitions.make(on: stores.configuration) == 0)
            try await stores.expectIntact()
        }
    }

    /// Rows of the default partition lie before and after a month that has its partition.
    @Test func monthsToCome_areCreated_whenTheDefaultPartitionCannotBecomeOne() async throws {
        try await TestStores.with { stores in
            try await forgetPartitions(stores)
            _ = try await stores.sql("SELECT make_history_partition('token_event', '2020-02-01')")
            try await stores.fill(2)
            _ = try await stores.sql("UPDATE token_event SET at = '2020-01-15' WHERE install_id = 'i-0'")
            _ = try await HistoryPartitions.make(on: stores.configuration)
            let missing = try await stores.column(
                "SELECT parent FROM missing_history_months(3) WHERE first_day > now()")
            #expect(missing.isEmpty)
            #expect(try await rows("token_event", in: stores) == 2)
            #expect(try await stores.sql("SELECT FROM pg_constraint WHERE conname = 'history_bounds'").isEmpty)
            try await stores.register("i-2", token: token)
        }
    }

    private let token = "bbbbbbbbbbbbbbbb"

    @Test func constraint_isRemoved_whenItsMakerWasCutShort() async throws {
        try await TestStores.with { stores in
            _ = try await stores.sql(
                "ALTER TABLE token_event_default ADD CONSTRAINT history_bounds CHECK (at < '2020-01-01') NOT VALID")
            _ = try await HistoryPartitions.make(on: stores.configuration)
            #expect(try await stores.sql("SELECT FROM pg_constraint WHERE conname = 'history_bounds'").isEmpty)
        }
    }

    @Test func run_isDone_whenPartitionsCannotBeMadeForALock() async throws {
        try await TestStores.with { stores in
            try await forgetPartitions(stores)
            let report = try await stores.postgres.withTransaction { reader in
                _ = try await reader.execute("SELECT count(*) FROM token_event, settings_snapshot")
                return try await stores.cleanUp()
            }
            #expect(report.partitionsMade == 0)
            #expect(try await CleanUp(stores.configuration).runs(limit: 1).map(\.outcome) == ["done"])
            #expect(try await stores.cleanUp().partitionsMade == 8)
        }
    }

    /// Events of the same month went into two partitions, since a clock went back: positions do not ascend with months.
    @Test func reader_learnsThatEventsAreGone_whateverMonthTheyWereFiledUnder() async throws {
        try await TestStores.with { stores in
            _ = try await stores.sql("SELECT make_history_partition('token_event', '2020-01-01')")
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
    }

    @Test func oldRowsOfTheDefaultPartition_areRemoved_andReadersLearnOfIt() async throws {
        try await TestStores.with { stores in
            try await stores.fill(3)
            let events = try await stores.events.changes(of: stores.app.number, after: nil, limit: 9)
            _ = try await stores.sql("UPDATE token_event SET at = '2019-01-15' WHERE install_id <> 'i-2'")
            #expect(try await stores.cleanUp().historyRemoved == 2)
            await #expect(throws: EventRefusal.cursorExpired) {
                _ = try await stores.events.changes(of: stores.app.number, after: events[0].cursor, limit: 9)
            }
        }
    }
}
