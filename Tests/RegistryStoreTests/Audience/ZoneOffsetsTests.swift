import PostgresClient
import PushRegistry
import Testing

@testable import RegistryStore

@Suite("Counts compute the offsets of the zones that an app's installations have, and of no others")
struct ZoneOffsetsTests {
    @Test func offsets_areOfTheAppsZones() async throws {
        try await TestStores.with { stores in
            try await stores.register("phone", token: "aaaaaaaaaaaaaa10")
            let asOf = try #require(Timestamp("2026-01-15T12:00:00Z"))
            let zones = try await stores.sql(CubeStatements.zones(of: stores.app.number, at: asOf))
            #expect(try zones.map { try $0.decode(0, as: String.self) } == ["Europe/Berlin"])
            #expect(try zones.map { try $0.decode(1, as: Int32.self) } == [3_600])
            // Installations are read where the roll-up does not know the zones of all.
            let all = ZoneOffsets.definition(at: asOf, of: nil)
            #expect(try await stores.sql("WITH \(sql: all) SELECT FROM zone").count > 300)
        }
    }
}
