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
        let registration = try Registration.make("phone", Token("aaaaaaaaaaaaaaaa", of: .apns), of: stores.app) {
            $0.device.locale = LocaleIdentifier(locale)
        }
        return try await cells.numbers(of: [registration], stores.postgres, .batch)
    }
}
