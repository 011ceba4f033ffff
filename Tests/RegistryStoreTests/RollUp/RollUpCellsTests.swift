import PostgresClient
import PushRegistry
import Testing

@testable import RegistryStore

@Suite("The numbers of cells that a process knows belong to one database (R13)", .stores)
struct RollUpCellsTests {
    private let stores = TestStores.lent!

    /// A failover that lost the newest transactions: the number is that of another cell.
    @Test func numbers_areForgotten_whenTheDatabaseIsAnother() async throws {
        let cells = RollUpCells(checkInterval: .zero)
        let first = try await numbers(of: "sv_SE", cells, stores)
        #expect(try await numbers(of: "sv_SE", cells, stores) == first)
        _ = try await stores.sql("TRUNCATE rollup_cell RESTART IDENTITY")
        let other = try await numbers(of: "de_DE", RollUpCells(), stores)
        #expect(other == first)
        #expect(try await numbers(of: "sv_SE", cells, stores) != first)
        #expect(try await numbers(of: "de_DE", cells, stores) == other)
    }

    /// The cube of a service, too: its cells and transactions are of the old database.
    @Test func cube_isReadAnew_whenTheDatabaseIsAnother() async throws {
        try await stores.register("a", token: "aaaaaaaaaaaaaaaa")
        try await stores.fold()
        try await stores.expectExact()
        // As if the installation had never been there.
        _ = try await stores.sql("TRUNCATE rollup_delta, rollup_cube, installation")
        try await stores.expectExact()
    }

    private func numbers(of locale: String, _ cells: RollUpCells, _ stores: TestStores) async throws -> [Int64] {
        let device = Device(
            installID: try InstallID("phone"), deviceModel: "x", systemName: "iOS", systemVersion: "26.5",
            locale: LocaleIdentifier(locale), timeZoneID: "Europe/Berlin", timeZoneOffset: 3600)
        let request = RegistrationRequest(
            token: try Token("aaaaaaaaaaaaaaaa", of: .apns), keys: nil,
            snapshot: Snapshot(settings: NotificationSettings(), device: device))
        let registration = Registration(
            request, of: stores.app, by: RegistrationClaim(of: stores.app, owner: nil), actor: "service:test",
            sha256: TestStores.sha256)
        return try await cells.numbers(of: [registration], stores.postgres, .batch)
    }
}
