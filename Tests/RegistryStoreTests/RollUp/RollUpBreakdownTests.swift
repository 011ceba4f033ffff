import Basics
import PostgresClient
import PushRegistry
import RegistryTestSupport
import Testing

@testable import RegistryStore

@Suite("A breakdown of the roll-up is that of the installations", .timeLimit(.minutes(30)))
struct RollUpBreakdownTests {
    @Test func groups_areThoseOfTheInstallations_whateverIsFolded() async throws {
        let seed = TestSeed.make(for: "RollUpBreakdownTests")
        try await TestStores.with { stores in
            var dice = SeededGenerator(seed: seed)
            _ = try await stores.makeFleet(120, &dice)
            let audiences = PostgresAudienceStore(postgres: stores.postgres, limits: AudienceStoreLimits())
            for round in 0..<12 {
                try await stores.fold(dice.below(60) + 1)
                try await Self.change(stores, &dice)
                for fields in Self.breakdowns {
                    let limit = dice.element(of: [1, 2, 5, 1_000])
                    let include = dice.element(of: AudienceInclude.allCases)
                    let note = "seed \(seed), round \(round): by \(fields), \(include), \(limit)"
                    try await expectSame(by: fields, limit, include, of: stores.app, in: audiences, note)
                }
            }
            try await stores.expectExact()
        }
    }

    @Test func largestGroups_areRight_whenFoldedOnesShrinkAndNewOnesCome() async throws {
        try await TestStores.with { stores in
            let audiences = PostgresAudienceStore(postgres: stores.postgres, limits: AudienceStoreLimits())
            for number in 10..<40 { try await stores.register("i\(number)", token: "aaaaaaaaaaaaaa\(number)") }
            try await stores.change("UPDATE installation SET settings = settings & ~15 | 2")
            try await stores.change("UPDATE installation SET locale = 'fr_FR' WHERE install_id < 'i20'")
            try await stores.fold()
            // The largest one vanishes, the other becomes smaller than two that no cell knows.
            try await stores.change("UPDATE installation SET locale = 'it_IT' WHERE install_id >= 'i20'")
            try await stores.change(
                "UPDATE installation SET system_version = '99.0' WHERE install_id BETWEEN 'i12' AND 'i19'")
            for include in AudienceInclude.allCases {
                let audience = Audience(app: stores.app.number, filter: .everybody, include: include)
                let result = try await audiences.breakDown(
                    audience, by: [.locale, .osVersion], limit: 2, explains: false)
                #expect(result.groups.map(\.values) == [["it_IT", "26.5"], ["fr_FR", "99.0"]])
                #expect(result.groups.map(\.count) == [20, 8] && result.total == 30 && result.restGroups == 1)
            }
        }
    }

    private static let breakdowns: [[AudienceField]] = [
        [.locale, .osVersion], [.osVersion, .timeZone], [.timeZone, .locale], [.timeZone, .locale, .osVersion],
        [.osVersion],
        [.locale, .systemName], [.utcOffset, .osVersion], [.provider, .authorizationStatus],
        [.systemName, .osVersion, .timeZone], [.authorizationStatus, .osVersion, .locale],
        [.provider, .timeZone, .osVersion], [.provider, .osVersion, .authorizationStatus],
    ]

    private static func change(_ stores: TestStores, _ dice: inout SeededGenerator) async throws {
        let part = Int32(dice.below(10))
        try await stores.change(
            """
            UPDATE installation SET locale = \(dice.element(of: Traits.locales)),
                system_version = \(dice.element(of: Traits.versions))
            WHERE mod(abs(hashtext(install_id)), 10) = \(part)
            """)
        try await stores.change(
            """
            DELETE FROM installation WHERE install_id IN (
                SELECT install_id FROM installation ORDER BY install_id LIMIT \(Int64(dice.below(3))))
            """)
    }

    /// The same audience, once with a condition that the roll-up does not have.
    private func expectSame(
        by fields: [AudienceField], _ limit: Int, _ include: AudienceInclude, of app: App,
        in audiences: PostgresAudienceStore, _ note: String
    ) async throws {
        let everybody = AudienceFilter.any([
            .condition(.carrier, .exists), .not(.condition(.carrier, .exists)),
        ])
        let audience = Audience(app: app.number, filter: .everybody, include: include)
        let slow = Audience(app: app.number, filter: everybody, include: include)
        let found = try await audiences.breakDown(audience, by: fields, limit: limit, explains: true)
        let expected = try await audiences.breakDown(slow, by: fields, limit: limit, explains: true)
        #expect(found.plan?.path == .rollUp && expected.plan?.path != .rollUp)
        #expect(found.groups.map(\.count) == expected.groups.map(\.count), "\(note)")
        #expect(found.groups.map { keys($0, fields) } == expected.groups.map { keys($0, fields) }, "\(note)")
        #expect(found.total == expected.total && found.restGroups == expected.restGroups, "\(note)")
    }

    /// A version by its number: which of its spellings stands for it, each path may say for itself.
    private func keys(_ group: AudienceBreakdown.Group, _ fields: [AudienceField]) -> [String?] {
        zip(fields, group.values).map { field, text in
            field.kind == .version ? text.flatMap { Version($0) }.map { "\($0.components)" } : text
        }
    }
}
