import Basics
import PostgresClient
import PushRegistry
import RegistryStore
import RegistryTestSupport
import Testing

@Suite("An audience is what its definition says, whatever the filter (R13, R16)")
struct AudiencePropertyTests {
    private let links: TimeZoneLinks
    private var stores: TestStores { TestStores.lent! }

    init() throws {
        links = try TimeZoneLinks()
    }

    /// From Berlin to Paris it is 878 km, to the antipode half of the circumference.
    @Test(
        arguments: [
            (52.52, 13.405, 878, 48.8566, 2.3522, true), (52.52, 13.405, 877, 48.8566, 2.3522, false),
            (10, 20, Circle.radiusKmMax, -10, -160, true), (0, 179.9, 30, 0, -179.9, true),
        ] as [(Double, Double, Double, Double, Double, Bool)])
    func oracle_knowsPointsWithinARadius(
        latitude: Double, longitude: Double, radiusKm: Double, pointLatitude: Double, pointLongitude: Double,
        isWithin: Bool
    ) throws {
        let circle = try #require(Circle(latitude: latitude, longitude: longitude, radiusKm: radiusKm))
        #expect(circle.contains(latitude: pointLatitude, longitude: pointLongitude) == isWithin)
    }

    @Test(.stores, arguments: [AudienceField.allCases.filter { $0 != .topic }, Self.ofTheRollUp])
    func results_agreeWithTheOracle_forRandomFilters(about fields: [AudienceField]) async throws {
        let seed = TestSeed.make(for: "AudiencePropertyTests")
        var dice = SeededGenerator(seed: seed)
        let fleet = try await stores.makeFleet(250, &dice)
        // Some of the roll-up is folded, the rest is not.
        try await stores.fold(150)
        let audiences = stores.audiences
        var partial = 0
        for number in 0..<250 {
            let audience = Audience(
                app: stores.app.number, filter: RandomFilter(links: links, fields: fields).make(&dice),
                include: dice.element(of: AudienceInclude.allCases))
            let note = "seed \(seed), filter \(number): \(audience)"
            let result = try await audiences.count(audience, explains: true)
            var oracle = AudienceOracle(asOf: result.asOf, links: links)
            let expected = fleet.filter { oracle.holds(audience, $0) }
            #expect(Int(result.count) == expected.count, "\(note)")
            if fields == Self.ofTheRollUp { #expect(result.plan?.path == .rollUp) }
            let lists = try await lists(of: audience, in: audiences)
            try await checkGroups(audience, fleet, &oracle, in: audiences, fields, &dice, note)
            expectIDs(in: lists, expected, fleet.filter { oracle.holds(audience, $0) }, note)
            if !expected.isEmpty, expected.count < fleet.count / 2 { partial += 1 }
        }
        // Filters that select no installation or all of them would show little.
        #expect(partial > 50, "seed \(seed)")
    }

    private static let ofTheRollUp: [AudienceField] = [
        .provider, .locale, .timeZone, .utcOffset, .localTime, .systemName, .osVersion, .authorizationStatus,
    ]

    /// With one topic from the roll-up, with several or with other fields from the installations.
    @Test(.stores, arguments: [1, 4])
    func results_agreeWithTheOracle_aboutTopics(count: Int) async throws {
        let seed = TestSeed.make(for: "AudiencePropertyTests")
        var dice = SeededGenerator(seed: seed)
        let fleet = try await stores.makeFleet(200, &dice)
        let topics = try await stores.makeTopics(4)
        let choices = try await stores.choose(topics.topics, for: fleet, &dice) { number in
            // Some of the choices are folded, the rest is not.
            if number == fleet.count * 2 / 3 { try await stores.fold(10_000) }
        }
        let audiences = stores.audiences
        let fields = count == 1 ? Self.ofTheRollUp : AudienceField.allCases.filter { $0 != .topic }
        for number in 0..<150 {
            let named = Array(topics.topics.shuffled(using: &dice).prefix(count))
            let filter = RandomFilter(
                links: links, fields: fields + Array(repeating: .topic, count: 4), topics: named)
            let audience = Audience(
                app: stores.app.number, filter: filter.make(&dice),
                include: dice.element(of: AudienceInclude.allCases), topics: topics)
            let note = "seed \(seed), filter \(number): \(audience.filter) \(audience.include)"
            let result = try await audiences.count(audience, explains: true)
            var oracle = AudienceOracle(asOf: result.asOf, links: links, choices: choices)
            let expected = fleet.filter { oracle.holds(audience, $0) }
            #expect(Int(result.count) == expected.count, "\(note)")
            if count == 1 { #expect(result.plan?.path == .rollUp) }
            let lists = try await lists(of: audience, in: audiences)
            try await checkGroups(audience, fleet, &oracle, in: audiences, fields, &dice, note)
            expectIDs(in: lists, expected, fleet.filter { oracle.holds(audience, $0) }, note)
            try await checkTopics(audience, fleet, &oracle, in: audiences, note)
        }
        #expect(try await stores.brokenRollUp().isEmpty)
    }

    /// Installations that were listed between two other results. Where the audience changed between these (an
    /// hour of local time began, a session expired), lists may show either.
    private func expectIDs(in lists: [[String]], _ before: [FleetMember], _ after: [FleetMember], _ note: String) {
        let ids = before.map(\.installID.rawValue).sorted()
        if ids == after.map(\.installID.rawValue).sorted() { #expect(lists == [ids, ids, ids], "\(note)") }
    }

    private func checkTopics(
        _ audience: Audience, _ fleet: [FleetMember], _ oracle: inout AudienceOracle,
        in audiences: PostgresAudienceStore, _ note: String
    ) async throws {
        let result = try await audiences.breakDown(audience, by: [.topic], limit: 2, explains: false)
        oracle.asOf = result.asOf
        let expected = fleet.filter { oracle.holds(audience, $0) }
        let counts = audience.topics.topics.map { topic in
            expected.count { topic.isSubscribed(by: oracle.choices[$0.installID]?[topic.number]) }
        }.filter { $0 > 0 }.sorted(by: >)
        #expect(Int(result.total) == expected.count, "\(note)")
        #expect(result.groups.map { Int($0.count) } == Array(counts.prefix(2)), "\(note)")
        #expect(Int(result.restCount) == counts.dropFirst(2).reduce(0, +), "\(note)")
        #expect(Int(result.restGroups) == max(0, counts.count - 2), "\(note)")
    }

    /// By the paths that list: pages in both orders, and export.
    private func lists(of audience: Audience, in audiences: PostgresAudienceStore) async throws -> [[String]] {
        var listed: [String] = []
        var page: AudiencePage
        repeat {
            let last = try listed.last.map { try InstallID($0) }
            page = try await audiences.page(audience, from: .installID(after: last), limit: 97, explains: false)
            listed += page.items.map(\.installID.rawValue)
        } while page.hasMore
        let exported = Cells()
        try await audiences.export(audience, [.field(.locale), .installID], from: .start) { exported.add($0) }
        let ofOpaqueIDs = try await listedByOpaqueIDs(audience, in: audiences)
        return [listed, exported.texts.compactMap { $0[1] }, ofOpaqueIDs.sorted()]
    }

    private func listedByOpaqueIDs(_ audience: Audience, in audiences: PostgresAudienceStore) async throws -> [String] {
        var (listed, ids): ([String], [OpaqueID]) = ([], [])
        var page: AudiencePage
        repeat {
            page = try await audiences.page(audience, from: .opaqueID(after: ids.last), limit: 97, explains: false)
            listed += page.items.map(\.installID.rawValue)
            ids += try page.items.map { try #require($0.opaqueID) }
        } while page.hasMore
        let texts = ids.map(\.text)
        #expect(texts == texts.sorted() && Set(texts).count == texts.count)
        return listed
    }

    /// Leaves the oracle at the time of this result.
    private func checkGroups(
        _ audience: Audience, _ fleet: [FleetMember], _ oracle: inout AudienceOracle,
        in audiences: PostgresAudienceStore, _ choice: [AudienceField], _ dice: inout SeededGenerator, _ note: String
    ) async throws {
        let discrete = choice.filter(\.isDiscrete)
        let fields = Array(discrete.shuffled(using: &dice).prefix(1 + dice.below(3)))
        let result = try await audiences.breakDown(audience, by: fields, limit: 1_000, explains: false)
        oracle.asOf = result.asOf
        let expected = fleet.filter { oracle.holds(audience, $0) }
        let groups = Dictionary(grouping: expected) { member in fields.map { [oracle] in oracle.key($0, member) } }
        #expect(result.groups.map { Int($0.count) } == groups.values.map(\.count).sorted(by: >), "\(note) by \(fields)")
        #expect(Int(result.total) == expected.count && result.restCount == 0 && result.restGroups == 0, "\(note)")
        for group in result.groups {
            let key = zip(fields, group.values).map { field, text in shown(field, text) }
            #expect(groups[key]?.count == Int(group.count), "\(note) by \(fields): \(key)")
        }
    }

    private func shown(_ field: AudienceField, _ text: String?) -> String? {
        guard field.kind == .version else { return text }
        return text.flatMap { Version($0) }.map { "version \($0.components)" }
    }
}
