import Basics
import EmbeddedPostgres
import PostgresClient
import RegistryTestSupport
import Testing

/// Installations that differ in what the screens show.
enum Fleet {
    static let count = 160

    private static let locales = ["de_DE", "de_AT", "en_US", "en_GB", "fr_FR", "pt_BR", "ja_JP"]
    private static let zones: [(String, Int64)] = [
        ("Europe/Berlin", 3_600), ("Europe/Vienna", 3_600), ("America/New_York", -18_000), ("Europe/London", 0),
        ("Europe/Paris", 3_600), ("America/Sao_Paulo", -10_800), ("Asia/Tokyo", 32_400),
    ]
    private static let versions = ["26.5", "26.1", "18.7.2", "17.2", "16.4"]

    /// Registers the installations, and creates topics and a segment.
    static func fill(_ app: RegistryApp) async throws {
        var random = SeededGenerator(seed: 18)
        for number in 0..<count {
            _ = try await app.put("phone-\(number)", body(number, &random), as: "user-\(number)")
        }
        for topic in ["news", "offers"] {
            _ = try await app.send(
                "PUT", "/topics/\(topic)", ["name": .string(topic), "default": "in"], by: .role(.admin))
        }
        _ = try await app.send(
            "PUT", "/segments/germans", ["filter": ["locale": "de"], "description": "Everybody who reads German"],
            by: .role(.marketing))
        try await record(app, daysAgo: Array(2...20) + Array(24...40))
    }

    /// Lets the night job record an app, as if it had been the same on each of these days.
    ///
    /// - Parameter days: all above 1. The job's own record is of one of the last two days; it goes.
    /// - Returns: the days, the earliest first, such as `2026-03-01`.
    @discardableResult
    static func record(_ app: RegistryApp, daysAgo days: [Int64]) async throws -> [String] {
        let night = try await RegistryCommand.run(
            ["cleanup", "--app", app.id, "--max-share", "100%"],
            environment: ["PUSH_REGISTRY_DATABASE_URL": app.registry.cluster.connectionString])
        try #require(night.status == 0, "\(night.log)")
        let recorded = try await app.database.rows(
            """
            INSERT INTO rollup_history (app_id, day, topic, as_of, counts)
            SELECT h.app_id, d, h.topic, (d + 1)::timestamp AT TIME ZONE 'UTC', h.counts
            FROM (
                SELECT DISTINCT ON (topic) * FROM rollup_history
                WHERE app_id = (SELECT id FROM app WHERE identifier = \(app.id)) ORDER BY topic, as_of DESC) AS h
            CROSS JOIN LATERAL (
                SELECT (now() AT TIME ZONE 'UTC')::date - n::int AS d FROM unnest(\(days)) AS s (n)) AS days
            RETURNING day::text
            """)
        _ = try await app.database.rows(
            """
            DELETE FROM rollup_history
            WHERE app_id = (SELECT id FROM app WHERE identifier = \(app.id))
                AND day > (now() AT TIME ZONE 'UTC')::date - 2
            """)
        return Set(try recorded.map { try $0.decode(0, as: String.self) }).sorted()
    }

    private static func body(_ number: Int, _ random: inout SeededGenerator) -> JSON {
        let place = Int.random(in: locales.indices, using: &random)
        let isApple = random.next() % 3 == 0
        var device = SampleRegistration.device("phone-\(number)")
        device["locale"] = .string(locales[place])
        device["language"] = .string(String(locales[place].prefix(2)))
        device["region"] = .string(String(locales[place].suffix(2)))
        device["timeZoneId"] = .string(zones[place].0)
        device["timeZoneOffset"] = .integer(zones[place].1)
        device["systemName"] = isApple ? "iOS" : "Android"
        device["systemVersion"] = .string(isApple ? versions[number % versions.count] : "\(12 + number % 5)")
        if number.isMultiple(of: 4) { device = device.without("carrier") }
        let status = number.isMultiple(of: 5) ? "denied" : "authorized"
        return SampleRegistration.make(
            "phone-\(number)", provider: isApple ? "apns" : "fcm",
            settings: SampleRegistration.settings(authorizationStatus: status), device: device)
    }
}
