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
            let rollUp = RollUp(of: stores.app.number, scope: .all, asOf: asOf.postgres)
            let zones = try await stores.sql(Self.offsets(at: asOf, in: rollUp))
            #expect(try zones.map { try $0.decode(0, as: String.self) } == ["Europe/Berlin"])
            #expect(try zones.map { try $0.decode(1, as: Int32.self) } == [3_600])
            // Installations are read where the roll-up does not know the zones of all.
            #expect(try await stores.sql(Self.offsets(at: asOf, in: nil)).count > 300)
        }
    }

    private static func offsets(at asOf: Timestamp, in rollUp: RollUp?) -> PostgresStatement {
        let definition = ZoneOffsets.definition(at: asOf, in: rollUp)
        return "WITH \(sql: definition) SELECT zone_name, utc_offset FROM zone"
    }
}
