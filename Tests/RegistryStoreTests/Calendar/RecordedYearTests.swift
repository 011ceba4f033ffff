import Basics
import PostgresClient
import PushRegistry
import RegistryTestSupport
import Testing

@testable import RegistryJobs
@testable import RegistryStore

@Suite(
    "Counts of past days are those that were counted on them (R13)",
    .enabled(if: MovableClock.isInstalled, "libfaketime is not installed: make packages"),
    .timeLimit(.minutes(20)))
struct RecordedYearTests {
    private static let start = Timestamp.at("2025-11-20T12:00:00Z")
    private static let first = CalendarDay(of: start)
    /// Longer than records are kept.
    private static let days = 450
    private static let fields: [AudienceField] = [
        .provider, .locale, .timeZone, .utcOffset, .systemName, .osVersion, .authorizationStatus,
    ]

    /// The job does not run each night.
    @Test func year_holdsEachDay_toWhatWasCountedOnIt() async throws {
        let seed = TestSeed.make(for: "RecordedYearTests")
        var dice = SeededGenerator(seed: seed)
        let links = try TimeZoneLinks()
        try await SimulatedRegistry.with(from: Self.start) { registry in
            try await registry.withService { service in
                _ = try await service.stores.makeFleet(60, &dice)
                try await service.stores.change("UPDATE installation SET locale = 'xx_FIRST' WHERE install_id < 'i05'")
                let audiences = Self.audiences(of: registry.app, links, &dice)
                var counted: [CalendarDay: [Int64]] = [:]
                for number in 0..<Self.days {
                    let day = Self.first.advanced(byDays: number)
                    try await Self.change(service.stores, number, &dice)
                    guard number == 0 || dice.isTrue(0.25) else { continue }
                    let hours = dice.element(of: [-10, -1, 0, 3, 11] as [Int64])
                    try registry.clock.set(to: day.end.advanced(by: .hours(hours + 12)).preceding(by: .hours(12)))
                    // Most phones go on being used.
                    _ = try await service.stores.sql(
                        "UPDATE installation SET last_seen_at = now() WHERE install_id > 'i06'")
                    _ = try await registry.cleanUp()
                    counted[day] = try await Self.present(audiences, service)
                    if number == 250 {
                        try await Self.check(counted, audiences, service, "seed \(seed), half of it")
                    }
                }
                let last = Self.first.advanced(byDays: Self.days)
                try registry.clock.set(to: last.end)
                _ = try await registry.cleanUp()
                counted[last] = try await Self.present(audiences, service)
                let kept = counted.filter { $0.key > last.advanced(byDays: -400) }
                #expect(kept.count > 50 && kept.count < counted.count)
                try await Self.check(kept, audiences, service, "seed \(seed)")
                await #expect(throws: AudienceRefusal.noRecord(Self.first)) {
                    try await service.audiences.count(audiences[0], on: Self.first)
                }
                // The cells of the first days are gone with their records; those of the last are not.
                #expect(
                    try await service.stores.count("SELECT count(*) FROM rollup_text WHERE text = 'xx_FIRST'") == 0)
                #expect(
                    try await service.stores.count("SELECT count(*) FROM rollup_cell WHERE unused_since < now()") > 0)
            }
        }
    }

    private static func audiences(
        of app: App, _ links: TimeZoneLinks, _ dice: inout SeededGenerator
    ) -> [Audience] {
        let everybody = AudienceInclude.allCases.map {
            Audience(app: app.number, filter: .everybody, include: $0, topics: app.topics)
        }
        return everybody
            + (0..<12).map { _ in
                Audience(
                    app: app.number, filter: RandomFilter(links: links, fields: fields).make(&dice),
                    include: dice.element(of: AudienceInclude.allCases))
            }
    }

    private static func present(_ audiences: [Audience], _ service: SimulatedService) async throws -> [Int64] {
        var counts: [Int64] = []
        for audience in audiences { counts.append(try await service.audiences.count(audience, explains: false).count) }
        return counts
    }

    private static func change(_ stores: TestStores, _ number: Int, _ dice: inout SeededGenerator) async throws {
        guard dice.isTrue(0.5) || number == 1 else { return }
        let part = Int32(dice.below(10))
        try await stores.change(
            """
            UPDATE installation SET locale = \(dice.isTrue(0.3) ? "x\(number)" : dice.element(of: Traits.locales)),
                system_version = \(dice.element(of: Traits.versions))
            WHERE mod(abs(hashtext(install_id)), 10) = \(part) OR locale = 'xx_FIRST' AND \(Int32(number)) > 0
            """)
        if dice.isTrue(0.05) {
            try await stores.change(
                "DELETE FROM installation WHERE install_id IN (SELECT min(install_id) FROM installation)")
        }
    }

    private static func check(
        _ counted: [CalendarDay: [Int64]], _ audiences: [Audience], _ service: SimulatedService, _ note: String
    ) async throws {
        let days = counted.keys.sorted()
        for (index, audience) in audiences.enumerated() {
            let all = (0..<400).map { days[0].advanced(byDays: $0) }
            let points = try await service.audiences.counts(audience, on: all)
            #expect(points.map(\.day) == days, "\(note)")
            #expect(points.map(\.count) == days.compactMap { counted[$0]?[index] }, "\(note): \(audience)")
            for point in points { #expect(CalendarDay(endingNear: point.asOf) == point.day) }
        }
        for day in days.prefix(20) {
            let breakdown = try await service.audiences.breakDown(
                audiences[0], by: [.locale, .osVersion], limit: 1_000, on: day)
            #expect(breakdown.total == counted[day]?[0] && breakdown.counted == breakdown.total, "\(note)")
            #expect(breakdown.groups.reduce(0) { $0 + $1.count } == breakdown.total, "\(note)")
        }
    }

    @Test func nearestRun_isTheRecordOfADay() async throws {
        try await SimulatedRegistry.with(from: Self.start) { registry in
            try await registry.withService { service in
                let audience = Audience(app: registry.app.number, filter: .everybody, include: .all)
                for (number, hours) in ([-8, -1, 3, 11] as [Int64]).enumerated() {
                    try await service.stores.register("i1\(number)", token: "aaaaaaaaaaaaaa1\(number)")
                    try registry.clock.set(
                        to: Self.first.end.advanced(by: .hours(hours + 24)).preceding(by: .hours(24)))
                    _ = try await registry.cleanUp()
                }
                // The day that is not over has no record.
                await #expect(throws: AudienceRefusal.noRecord(Self.first.advanced(byDays: 1))) {
                    try await service.audiences.count(audience, on: Self.first.advanced(byDays: 1))
                }
                #expect(try await service.audiences.count(audience, on: Self.first).count == 2)
            }
        }
    }

    @Test func fieldsOutsideOfTheCube_areRefused() async throws {
        try await TestStores.with { stores in
            let audiences = stores.audiences
            let filter = AudienceFilter.all([
                .condition(.carrier, .exists), .condition(.locale, .exists), .condition(.appVersion, .exists),
            ])
            let audience = Audience(app: stores.app.number, filter: filter, include: .all)
            await #expect(throws: AudienceRefusal.outsideRecords([.appVersion, .carrier])) {
                try await audiences.count(audience, on: Self.first)
            }
        }
    }

    @Test(arguments: [Int64.min, -1, 0, 1, 63, 64, 8_191, 1 << 40, .max])
    func recordedCounts_areReadAsTheyWereWritten(count: Int64) throws {
        var record = RecordedCounts()
        record.append(7, AppCube.Counts(reachable: count, active: count, installations: count))
        record.append(1 << 50, AppCube.Counts(reachable: 1, active: 2, installations: 3))
        var read: [(Int64, Int64)] = []
        try RecordedCounts(record.bytes).read { read.append(($0, $1.reachable)) }
        #expect(read.map(\.0) == [7, 1 << 50] && read.map(\.1) == [count, 1])
        #expect(throws: StoreError.self) { try RecordedCounts(Array(record.bytes.dropLast())).read { _, _ in } }
    }

    @Test func days_ofATrend_areThoseOfTheCalendar() throws {
        let first = try CalendarDay("2024-01-31")
        let months = AudienceTrend.days(from: first, to: try CalendarDay("2025-03-01"), every: .month)
        #expect(
            months?.map(\.description).prefix(5)
                == ["2024-01-31", "2024-02-29", "2024-03-31", "2024-04-30", "2024-05-31"])
        #expect(months?.last?.description == "2025-02-28" && months?.count == 14)
        let weeks = AudienceTrend.days(from: first, to: try CalendarDay("2024-02-14"), every: .week)
        #expect(weeks?.map(\.description) == ["2024-01-31", "2024-02-07", "2024-02-14"])
        #expect(AudienceTrend.days(from: first, to: first.advanced(byDays: 399), every: .day)?.count == 400)
        #expect(AudienceTrend.days(from: first, to: first.advanced(byDays: 400), every: .day) == nil)
        let last = try CalendarDay("9999-12-31")
        let ofLastYear = AudienceTrend.days(from: try CalendarDay("9999-01-31"), to: last, every: .month)
        #expect(ofLastYear?.count == 12 && ofLastYear?[1].description == "9999-02-28" && ofLastYear?.last == last)
        #expect(last.advanced(byMonths: 1) > last && last.advanced(byMonths: 14) > last)
    }
}
