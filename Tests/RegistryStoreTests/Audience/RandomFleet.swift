import Basics
import Foundation
import PostgresClient
import PushRegistry
import RegistryStore

extension SeededGenerator {
    mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }
    mutating func isTrue(_ probability: Double) -> Bool { Double.random(in: 0..<1, using: &self) < probability }

    mutating func element<Element>(of elements: [Element]) -> Element {
        elements[below(elements.count)]
    }

    /// Nil now and then.
    mutating func optional<Element>(of elements: [Element]) -> Element? {
        isTrue(0.3) ? nil : element(of: elements)
    }
}

/// Few values, so that random filters meet random installations; among them all that is odd.
enum Traits {
    static let locales = [
        "de", "de_DE", "de_AT", "den", "den_CA", "zh_Hans", "zh_Hans_CN", "zh_Hant_TW", "ca_ES_VALENCIA", "es_419",
        "de_1",
        "de_DE_x", "deutsch", "", "de_Latn",
    ]
    static let zones = [
        "Europe/Berlin", "Asia/Kolkata", "America/St_Johns", "Asia/Kathmandu", "America/New_York", "Pacific/Chatham",
        "Pacific/Kiritimati", "Pacific/Pago_Pago", "Etc/UTC", "Mars/Olympus", "CEST", "GMT+02:00", "UTC+3", "",
    ]
    static let offsets: [Int32] = [0, 3_600, -12_600, 19_800, 64_800, -64_800, 1]
    static let versions = [
        "17", "17.0", "17.10", "17.9", "17.2.1", "0", "0.0", "18.1 beta", "17..2", "99999999999999999999.1", "beta", "",
        "17.0.0.1",
        "1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.5", "007", "100",
    ]
    static let texts = ["iOS", "Android", "", "it's \"quoted\"", "a,b", "unknown", "Größe"]
    static let places = [
        (52.52, 13.4), (0.0, 0.0), (-90.0, 0.0), (90.0, 45.0), (10.0, 179.99), (10.0, -179.99), (51.5, -0.13),
    ]
}

/// An installation as the oracle knows it.
struct FleetMember {
    let installID: InstallID
    let token: Token
    let snapshot: Snapshot
    let userID: String?
    let sessionExpiresAt: Timestamp?
    let state: InstallationState
    let createdAt: Timestamp
    let lastSeenAt: Timestamp

    var provider: Provider { token.provider }

    static func random(_ number: Int, _ dice: inout SeededGenerator) throws -> FleetMember {
        let hasUser = dice.isTrue(0.6)
        let expiry = hasUser && dice.isTrue(0.4) ? dice.isTrue(0.5) ? -3_600 : 3_600 : nil as Int64?
        let lastSeen = moment(hoursAgo: dice.below(100 * 24))
        return FleetMember(
            installID: try InstallID("phone-\(number)-\(dice.below(1_000_000))"),
            token: try token(number, &dice),
            snapshot: Snapshot(settings: settings(&dice), device: try device("phone-\(number)", &dice)),
            userID: hasUser ? "user-\(number % 7)" : nil,
            sessionExpiresAt: expiry.map { Timestamp(microseconds: Timestamp.now().microseconds + $0 * 1_000_000) },
            state: dice.isTrue(0.7) ? .active : dice.element(of: InstallationState.allCases),
            createdAt: Timestamp(microseconds: lastSeen.microseconds - Int64(dice.below(1_000)) * 3_600_000_000),
            lastSeenAt: lastSeen)
    }

    /// Of all kinds of spellings, and some that look like them.
    private static func token(_ number: Int, _ dice: inout SeededGenerator) throws -> Token {
        let digits = String(repeating: "0", count: 13) + String(hex: UInt32(number + 0x1000_0000))
        let provider = dice.element(of: [Provider.apns, .apnsSandbox, .fcm, .huawei])
        guard !provider.isApple else { return try Token("c" + digits, of: provider) }
        let id = dice.element(of: ["c", "d", "e", "f", "g", "C", "."]) + digits
        return try Token(id + dice.element(of: ["", "", "", ":", ":APA91b", "x", "~"]), of: provider)
    }

    /// Whole hours before one moment of this run, so that some are equal.
    static func moment(hoursAgo: Int) -> Timestamp {
        Timestamp(microseconds: start.microseconds - Int64(hoursAgo) * 3_600_000_000)
    }

    private static let start = Timestamp.now()

    private static func settings(_ dice: inout SeededGenerator) -> NotificationSettings {
        var settings = NotificationSettings()
        settings.authorizationStatus = dice.element(of: AuthorizationStatus.allCases)
        settings.soundSetting = dice.element(of: NotificationSetting.allCases)
        settings.criticalAlertSetting = dice.element(of: NotificationSetting.allCases)
        settings.alertStyle = dice.element(of: AlertStyle.allCases)
        settings.showPreviewsSetting = dice.element(of: ShowPreviewsSetting.allCases)
        settings.providesAppNotificationSettings = dice.optional(of: [true, false])
        return settings
    }

    private static func device(_ installID: String, _ dice: inout SeededGenerator) throws -> Device {
        let place = dice.optional(of: Traits.places)
        return Device(
            installID: try InstallID(installID), appVersion: dice.optional(of: Traits.versions),
            deviceModel: dice.element(of: Traits.texts), systemName: dice.element(of: Traits.texts),
            systemVersion: dice.element(of: Traits.versions),
            locale: LocaleIdentifier(dice.element(of: Traits.locales)),
            language: dice.optional(of: Traits.texts), region: dice.optional(of: Traits.texts),
            timeZoneID: dice.element(of: Traits.zones), timeZoneOffset: dice.element(of: Traits.offsets),
            carrier: dice.optional(of: Traits.texts), appStore: dice.optional(of: Traits.texts),
            location: place.flatMap { Location(latitude: $0.0, longitude: $0.1) })
    }
}

extension TestStores {
    /// Installations of all kinds, as their rows say too.
    func makeFleet(_ count: Int, _ dice: inout SeededGenerator) async throws -> [FleetMember] {
        var fleet: [FleetMember] = []
        for number in 0..<count {
            let member = try FleetMember.random(number, &dice)
            try await insert(member, number)
            fleet.append(member)
        }
        return fleet
    }

    private func insert(_ member: FleetMember, _ number: Int) async throws {
        let session = member.sessionExpiresAt.map { _ in "session-\(number)" }
        let owner = try member.userID.map { try Owner.ofTest($0, session: session, until: member.sessionExpiresAt) }
        _ = try await installations.register(
            .make(member.installID.rawValue, member.token, of: app, as: owner) {
                $0 = member.snapshot
                $0.device.installID = member.installID
            })
        let hasToken = member.state != .superseded
        try await change(
            """
            UPDATE installation SET state = \(member.state.rawValue)::text::installation_state,
                token = CASE WHEN \(hasToken) THEN token END,
                token_sha256 = CASE WHEN \(hasToken) THEN token_sha256 END,
                created_at = \(PostgresTimestamp(microsecondsSince1970: member.createdAt.microseconds)),
                last_seen_at = \(PostgresTimestamp(microsecondsSince1970: member.lastSeenAt.microseconds))
            WHERE install_id = \(member.installID.rawValue)
            """)
    }
}
