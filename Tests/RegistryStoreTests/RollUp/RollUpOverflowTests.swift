import PostgresClient
import PushRegistry
import Testing

@testable import RegistryStore

@Suite("Counts stay exact when an app has no more cells for what its clients make up (R13)", .stores)
struct RollUpOverflowTests {
    private let stores = TestStores.lent!

    @Test func otherFields_areReadFromInstallations_whileSomeAreInOverflowCells() async throws {
        for number in 10..<16 { try await stores.register("i\(number)", token: "aaaaaaaaaaaaaa\(number)") }
        try await stores.change("UPDATE installation SET locale = 'fr_FR' WHERE install_id < 'i12'")
        try await stores.fold()
        try await overflow(stores)
        for _ in 0..<2 {
            try await expectCounts(in: stores)
            try await stores.fold()
        }
        try await stores.change("DELETE FROM installation WHERE install_id = 'i15'")
        try await stores.fold()
        let audience = audience(of: stores, .condition(.locale, .oneOf([.locale(LocaleIdentifier("de_DE"))])))
        let result = try await stores.audiences.count(audience, explains: true)
        #expect(result.count == 3 && result.plan?.path == .rollUp)
        #expect(try await stores.brokenRollUp().isEmpty)
    }

    @Test func newCombinations_shareACell_beyondTheLimit() async throws {
        let keys = ["x1", "x2"].map { locale in
            RollUpCells.Key(
                app: stores.app.number, provider: .apns, settings: NotificationSettings(), locale: locale,
                zone: "Europe/Berlin", offset: 0, systemName: "iOS", systemVersion: "26.5")
        }
        let creation = try await RollUpCellCreation(keys, mayAdd: false).run(on: stores.postgres, .batch)
        #expect(Set(creation.numbers).count == 1)
        #expect(try await stores.count("SELECT count(*) FROM rollup_cell WHERE locale_number = 0") == 1)
    }

    /// An upgrade of tzdata may add the zone while the service runs.
    @Test func unknownZone_isAskedForAgain() async throws {
        let unknown = try await create("de", zone: "Mars/Olympus", in: stores)
        _ = try await stores.sql("INSERT INTO known_time_zone VALUES ('Mars/Olympus')")
        let known = try await create("de", zone: "Mars/Olympus", unknown.texts, in: stores)
        #expect(known.numbers != unknown.numbers)
        #expect(try await stores.count("SELECT sum(time_zone_offset) FROM rollup_cell") == 7200)
    }

    private func create(
        _ locale: String, zone: String = "Europe/Berlin", _ texts: RollUpTexts = RollUpTexts(),
        in stores: TestStores
    ) async throws -> (numbers: [Int64], texts: RollUpTexts, units: Int) {
        let key = RollUpCells.Key(
            app: stores.app.number, provider: .apns, settings: NotificationSettings(), locale: locale, zone: zone,
            offset: 7200, systemName: "iOS", systemVersion: "26.5")
        var units = 0
        let creation = try await RollUpCellCreation([key], mayAdd: true, texts: texts).steps.run { unit in
            units += 1
            return try await stores.postgres.execute(unit)
        }
        return (creation.numbers, creation.texts, units)
    }

    /// `i15` is counted in the overflow cell of its provider and authorization.
    private func overflow(_ stores: TestStores) async throws {
        _ = try await stores.sql(
            """
            INSERT INTO rollup_cell (app_id, provider, authorization_status, locale_number, zone_number, system_number,
                spelling_number, version_number, time_zone_offset)
            SELECT app_id, provider, authorization_status, 0, 0, 0, 0, 0, 0 FROM rollup_cell LIMIT 1
            """)
        try await stores.change(
            """
            UPDATE installation SET cell = (SELECT number FROM rollup_cell WHERE locale_number = 0)
            WHERE install_id = 'i15'
            """)
    }

    private func expectCounts(in stores: TestStores) async throws {
        let german = audience(of: stores, .condition(.locale, .oneOf([.locale(LocaleIdentifier("de_DE"))])))
        let result = try await stores.audiences.count(german, explains: true)
        #expect(result.count == 4 && result.plan?.path != .rollUp)
        let groups = try await stores.audiences.breakDown(
            audience(of: stores, .everybody), by: [.locale], limit: 10, explains: true)
        #expect(groups.groups.map(\.count) == [4, 2] && groups.plan?.path != .rollUp)
        let providers = try await stores.audiences.breakDown(
            audience(of: stores, .everybody), by: [.provider, .authorizationStatus], limit: 10, explains: true)
        #expect(providers.groups.map(\.count) == [6] && providers.plan?.path == .rollUp)
    }

    private func audience(of stores: TestStores, _ filter: AudienceFilter) -> Audience {
        Audience(app: stores.app.number, filter: filter, include: .active)
    }
}
