import Basics
import RegistryTestSupport

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
        try await app.recordCounts(daysAgo: Array(2...20) + Array(24...40))
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

extension RegistryApp {
    /// The number of an audience.
    func count(_ body: JSON) async throws -> Int64 {
        try await send("POST", "/audience/count", body, by: .role(.marketing)).json["count"].integer ?? -1
    }
}
