import Basics
import PostgresClient
import PushRegistry
import RegistryTestSupport
import Testing

@testable import RegistryJobs
@testable import RegistryStore

@Suite("Two spellings of one Unicode text are two texts in every count (R13)", .stores)
struct RollUpSpellingTests {
    private let stores = TestStores.lent!

    private static let spellings = ["Caf\u{E9}", "Cafe\u{301}"]

    @Test func counts_areThoseOfTheInstallations() async throws {
        for (number, text) in Self.spellings.enumerated() {
            try await register("i\(number)", text, locale: "x " + text, zone: "Z/" + text, stores)
        }
        for text in Self.spellings {
            #expect(try await count(.systemName, .text(text), stores) == 1)
            #expect(try await count(.timeZone, .text("Z/" + text), stores) == 1)
            #expect(try await count(.locale, .locale(LocaleIdentifier("x " + text)), stores) == 1)
        }
        for field in [AudienceField.systemName, .timeZone, .locale] {
            let groups = try await stores.audiences.breakDown(
                audience(stores), by: [field], limit: 10, explains: false
            ).groups
            #expect(groups.map(\.count) == [1, 1])
        }
        #expect(try await stores.brokenRollUp().isEmpty)
        #expect(try await RollUpRebuild(stores.configuration).run().installations == 0)
    }

    /// U+212A is K in another spelling, and PostgreSQL does not know this name: the sent offset counts.
    @Test func zone_isUnknown_inAnotherSpelling() async throws {
        try await register("known", "iOS", locale: "de_DE", zone: "Asia/Kolkata", stores)
        try await register("unknown", "iOS", locale: "de_DE", zone: "Asia/\u{212A}olkata", stores)
        #expect(try await count(.utcOffset, .offset(5 * 3600 + 1800), stores) == 1)
        #expect(try await count(.utcOffset, .offset(60), stores) == 1)
        #expect(try await stores.brokenRollUp().isEmpty)
    }

    private func register(
        _ installID: String, _ systemName: String, locale: String, zone: String, _ stores: TestStores
    ) async throws {
        _ = try await stores.installations.register(
            .make(installID, Token("token-of-\(installID)", of: .fcm), of: stores.app) {
                ($0.device.systemName, $0.device.locale) = (systemName, LocaleIdentifier(locale))
                ($0.device.timeZoneID, $0.device.timeZoneOffset) = (zone, 60)
            })
    }

    private func audience(_ stores: TestStores, _ filter: AudienceFilter = .everybody) -> Audience {
        Audience(app: stores.app.number, filter: filter, include: .all)
    }

    private func count(_ field: AudienceField, _ value: AudienceValue, _ stores: TestStores) async throws -> Int64 {
        let result = try await stores.audiences.count(
            audience(stores, .condition(field, .oneOf([value]))), explains: true)
        #expect(result.plan?.path == .rollUp)
        return result.count
    }
}
