import PostgresClient
import PushRegistry
import Testing

@testable import RegistryStore

@Suite("It is the same time of day everywhere, whatever clocks do (fine print 40)", .stores)
struct WaveTests {
    private let stores = TestStores.lent!

    /// Zones, the offset that is sent with them, a day, and when it is 02:30 there then.
    private static let instants: [(zone: String, offset: Int32, day: String, instant: String)] = [
        // Before, at and after the spring's change: in the gap the time moves forward with the clocks.
        ("Europe/Berlin", 0, "2026-03-28", "2026-03-28T01:30:00Z"),
        ("Europe/Berlin", 0, "2026-03-29", "2026-03-29T01:30:00Z"),
        ("Europe/Berlin", 0, "2026-03-30", "2026-03-30T00:30:00Z"),
        // In autumn the first of two.
        ("Europe/Berlin", 0, "2026-10-25", "2026-10-25T00:30:00Z"),
        ("Europe/Berlin", 0, "2026-10-26", "2026-10-26T01:30:00Z"),
        ("America/New_York", 0, "2026-03-08", "2026-03-08T07:30:00Z"),
        // Half an hour, and three quarters of one.
        ("Asia/Kolkata", 0, "2026-11-22", "2026-11-21T21:00:00Z"),
        ("Asia/Kathmandu", 0, "2026-11-22", "2026-11-21T20:45:00Z"),
        ("Australia/Lord_Howe", 0, "2026-11-22", "2026-11-21T15:30:00Z"),
        // The day that Samoa left out.
        ("Pacific/Apia", 0, "2011-12-30", "2011-12-30T12:30:00Z"),
        ("Pacific/Apia", 0, "2011-12-31", "2011-12-30T12:30:00Z"),
        // Zones that are a day ahead, or behind.
        ("Pacific/Kiritimati", 0, "2026-11-22", "2026-11-21T12:30:00Z"),
        ("Pacific/Pago_Pago", 0, "2026-11-22", "2026-11-22T13:30:00Z"),
        // No zone: the offset that was sent, under the name sent. PostgreSQL would take these for zones.
        ("Mars/Olympus", -12_600, "2026-11-22", "2026-11-22T06:00:00Z"),
        ("UTC+3", 10_800, "2026-11-22", "2026-11-21T23:30:00Z"),
        ("CEST", 0, "2026-11-22", "2026-11-22T02:30:00Z"), ("", 3_600, "2026-11-22", "2026-11-22T01:30:00Z"),
    ]

    @Test func instant_isThatOfTheZone() async throws {
        for (number, zone) in Set(Self.instants.map(\.zone)).sorted().enumerated() {
            let offset = Self.instants.first { $0.zone == zone }?.offset ?? 0
            try await stores.register("phone-\(number)", zone, offset)
        }
        for day in Set(Self.instants.map(\.day)) {
            let waves = try await stores.waves(at: "02:30", on: day)
            for expected in Self.instants where expected.day == day {
                let found = waves.filter { $0.timeZones.contains(expected.zone) }
                #expect(found.map { "\($0.at)" } == [expected.instant], "\(expected)")
            }
        }
    }

    @Test func zoneWhoseClocksChange_isNamed() async throws {
        let zones = [
            "Europe/Berlin", "Europe/Dublin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia",
            "Asia/Tokyo", "Mars/Olympus",
        ]
        for (number, zone) in zones.enumerated() { try await stores.register("phone-\(number)", zone, 0) }
        let expected: [(day: String, time: String, changes: Set<String>)] = [
            ("2026-03-28", "02:30", []), ("2026-03-29", "02:30", ["Europe/Berlin 03:30"]),
            ("2026-03-29", "01:30", ["Europe/Dublin 02:30"]), ("2026-03-29", "01:59", ["Europe/Dublin 02:59"]),
            ("2026-03-29", "03:00", []), ("2026-03-08", "02:00", ["America/New_York 03:00"]),
            ("2026-10-25", "02:30", ["Europe/Berlin twice"]), ("2026-10-25", "01:30", ["Europe/Dublin twice"]),
            ("2026-11-01", "01:00", ["America/New_York twice"]), ("2026-11-01", "02:00", []),
            // Half an hour: 02:00 becomes 02:30 in October, and 01:30 in April.
            ("2026-10-04", "02:15", ["Australia/Lord_Howe 02:45"]),
            ("2026-04-05", "01:45", ["Australia/Lord_Howe twice"]), ("2026-04-05", "01:15", []),
            // The day that Samoa left out.
            ("2011-12-30", "10:00", ["Pacific/Apia 10:00"]), ("2011-12-31", "10:00", []),
        ]
        for (day, time, changes) in expected {
            let found = try await stores.waves(at: time, on: day).flatMap(\.clockChanges)
            #expect(
                Set(found.map { "\($0.timeZone) \($0.skippedTo ?? "twice")" }) == changes, "\(day) \(time)")
        }
    }

    @Test func zones_shareAWave_whereTheirClocksAgree() async throws {
        for (name, zone) in [
            ("a", "Europe/Berlin"), ("b", "Europe/Oslo"), ("c", "Asia/Kolkata"), ("d", "Europe/Berlin"),
        ] {
            try await stores.register(name, zone, 0)
        }
        let waves = try await stores.waves(at: "10:00", on: "2026-11-22")
        #expect(
            waves.map { "\($0.at) \($0.count) \($0.timeZones.compactMap(\.self))" } == [
                #"2026-11-22T04:30:00Z 1 ["Asia/Kolkata"]"#,
                #"2026-11-22T09:00:00Z 3 ["Europe/Berlin", "Europe/Oslo"]"#,
            ])
    }

    /// A name that is no zone, with different offsets, is at several instants.
    @Test func unknownZone_isSplit_byTheOffsetsSent() async throws {
        try await stores.register("a", "Mars/Olympus", 3_600)
        try await stores.register("b", "Mars/Olympus", 7_200)
        let waves = try await stores.waves(at: "10:00", on: "2026-11-22")
        #expect(waves.map { "\($0.at) \($0.count)" } == ["2026-11-22T08:00:00Z 1", "2026-11-22T09:00:00Z 1"])
    }
}

extension TestStores {
    fileprivate func register(_ name: String, _ zone: String, _ offset: Int32) async throws {
        _ = try await installations.register(
            .make(name, Token("token-of-\(name)", of: .fcm), of: app) {
                $0.settings.authorizationStatus = .authorized
                ($0.device.timeZoneID, $0.device.timeZoneOffset) = (zone, offset)
            })
    }

    fileprivate func waves(at time: String, on day: String) async throws -> [AudienceWaves.Wave] {
        let audience = Audience(app: app.number, filter: .everybody, include: .reachable)
        return try await audiences.waves(
            audience, at: try LocalTime(time), on: try CalendarDay(day), explains: false
        ).waves
    }
}

@Suite("Counts compute the offsets of the zones that an app's installations have, and of no others", .stores)
struct ZoneOffsetsTests {
    private let stores = TestStores.lent!

    @Test func offsets_areOfTheAppsZones() async throws {
        try await stores.register("phone", token: "aaaaaaaaaaaaaa10")
        let asOf = try #require(Timestamp("2026-01-15T12:00:00Z"))
        let zones = try await stores.sql(CubeStatements.zones(of: stores.app.number, at: asOf))
        #expect(try zones.map { try $0.decode(0, as: String.self) } == ["Europe/Berlin"])
        #expect(try zones.map { try $0.decode(1, as: Int32.self) } == [3_600])
        // Installations are read where the roll-up does not know the zones of all.
        let all = ZoneOffsets.definition(at: asOf, of: nil)
        #expect(try await stores.sql("WITH \(sql: all) SELECT FROM zone").count > 300)
    }

    /// PostgreSQL lists these names, too: one is the zone of its machine.
    @Test func namesThatAreNotIANAs_areUnknownZones() async throws {
        let names = TimeZoneLinks.notZones.sorted()
        let wrong: PostgresStatement = "SELECT count(*) FROM known_time_zone WHERE name = ANY (\(names))"
        // Those of the migration.
        #expect(try await stores.count(wrong) == 0)
        let all = try await stores.count("SELECT count(*) FROM known_time_zone")
        _ = try await stores.sql(RollUpPreparationStatements.learnZones)
        #expect(try await stores.count(wrong) == 0)
        #expect(try await stores.count("SELECT count(*) FROM known_time_zone") == all && all > 300)
    }
}
