import Locking
import PostgresClient
import PushRegistry
import Testing

@testable import RegistryStore

@Suite("Whoever begins a binding holds its user and session, also when the night job forgets them just then (R7)")
struct ForgottenGuardTests {
    /// Lets the night job forget all rows of a table while `body` waits to hold them.
    private func forgetting<Value: Sendable>(
        _ table: String, in stores: TestStores, _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try await stores.postgres.withTransaction { transaction in
            _ = try await transaction.execute(["SELECT FROM \(identifier: table) FOR UPDATE"])
            async let value = body()
            try await eventually {
                try await stores.sql("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")[0]
                    .decode(0, as: Int.self) > 0
            }
            _ = try await transaction.execute(["DELETE FROM \(identifier: table)"])
            try await transaction.commit()
            return try await value
        }
    }

    @Test(arguments: ["user_guard", "session"])
    func registration_makesWhatItHoldsAnew_whenItIsForgottenMeanwhile(table: String) async throws {
        try await TestStores.with { stores in
            try await stores.register("old", token: "aaaaaaaaaaaaaaaa", as: "alice", session: "s")
            let outcome = try await forgetting(table, in: stores) {
                try await stores.register("new", token: "bbbbbbbbbbbbbbbb", as: "alice", session: "s")
            }
            #expect(outcome.status == .created)
            let held = try await stores.sql("SELECT count(*) FROM \(identifier: table)")[0].decode(0, as: Int.self)
            #expect(held == 1)
        }
    }

    @Test func import_makesTheUserAnew_whenForgottenMeanwhile() async throws {
        try await TestStores.with { stores in
            try await stores.register("old", token: "aaaaaaaaaaaaaaaa", as: "alice")
            var record = ImportRecord()
            (record[.installID], record[.token], record[.userID]) = ("new", "bbbbbbbbbbbbbbbb", "alice")
            var reader = ImportReader(links: TimeZoneLinks(zones: "Z Etc/UTC 0 - UTC", table: ""))
            let lines = Locked([try reader.installation(record)])
            let counts = try await forgetting("user_guard", in: stores) {
                try await InstallationImporter(into: stores.app.number).load(
                    stores.configuration, from: { _ in lines.withLock { $0.popLast().map { [$0] } } })
            }
            #expect(counts.imported == 1)
            #expect(try await stores.sql("SELECT FROM user_guard").count == 1)
        }
    }
}
