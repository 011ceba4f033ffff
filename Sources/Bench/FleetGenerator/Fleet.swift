import Basics
import Crypto
import PushRegistry

/// Realistic installations of an app in 2026, generated from a seed: for tests and benchmarks.
///
///     let fleet = try Fleet(seed: 1, app: app, count: 1_000_000, asOf: now)
///     let request = fleet[17].body()
///
/// Installation `n` is a pure function of the seed and `n` (its times also depend on `asOf`), so a fleet need not be
/// stored: the same call generates installation 17 again. Numbers from `count` on are future installations.
///
/// Platforms, systems, models, countries, locales and time zones are as frequent as in public statistics, see
/// `Weights`. Three of four people are signed in, some of them on several devices. One installation in a hundred has an
/// odd value (`OddDevice`).
public struct Fleet: Sendable {
    public let seed: UInt64
    public let app: App
    public let count: Int
    /// The time of the fleet's state: no installation was seen later.
    public let asOf: Timestamp
    public let lastSeen: LastSeenSpread
    private let links: TimeZoneLinks

    /// - Parameters:
    ///   - lastSeen: how long ago the installations were last seen.
    ///   - links: tzdata's links, by which the service resolves zone names.
    public init(
        seed: UInt64, app: App, count: Int, asOf: Timestamp, lastSeen: LastSeenSpread = .fourMonths,
        links: TimeZoneLinks
    ) {
        self.seed = seed
        self.app = app
        self.count = count
        self.asOf = asOf
        self.lastSeen = lastSeen
        self.links = links
    }

    public var indices: Range<Int> { 0..<count }

    public subscript(number: Int) -> FleetInstallation {
        var random = FleetRandom(seed: seed, .device, number)
        let (person, platform) = Person.owner(of: number, seed: seed)
        var sent = SentDevice.make(installID(number), of: person, on: platform, &random)
        let settings = NotificationSettings.make(on: platform, &random)
        applyOddDevice(to: &sent, number)
        var secrets = FleetRandom(seed: seed, .token, number)
        let token = Token.make(of: .make(on: platform, in: person.zone, &secrets), &secrets)
        return FleetInstallation(
            number: number, platform: platform, token: token,
            keys: token.provider == .webPush ? .make(&secrets) : nil, settings: settings, sent: sent,
            device: sent.canonical(storesAdvertisingID: app.policy.storesAdvertisingID, links: links),
            owner: person.userID.map { owner($0, &random) }, times: .make(asOf, lastSeen, &random))
    }

    /// The id of installation `number`. In SQL: `md5('<seed>-<number>')::uuid::text`.
    public func installID(_ number: Int) -> InstallID {
        var digits: [UInt8] = []
        for byte in Insecure.MD5.hash(data: Array("\(seed)-\(number)".utf8)) { digits.appendHex(byte) }
        let parts = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(decoding: digits[$0], as: UTF8.self) }
        return mustSucceed { () throws(InvalidValue) in try InstallID(parts.joined(separator: "-")) }
    }

    private func applyOddDevice(to device: inout SentDevice, _ number: Int) {
        var random = FleetRandom(seed: seed, .oddDevice, number)
        guard random.below(OddDevice.oneIn) == 0 else { return }
        random.element(of: OddDevice.allCases).apply(to: &device, &random)
    }

    /// Each installation has its own session. One session in twenty expires: some soon, some have expired long ago.
    private func owner(_ userID: UserID, _ random: inout FleetRandom) -> Owner {
        let id = mustSucceed { () throws(InvalidValue) in try SessionID("session-\(random.hex(16))") }
        let expires = random.isTrue(0.05)
        let hours = Int64(random.below(90 * 24)) - 10 * 24
        let end = Timestamp(microseconds: (asOf.wholeSeconds + hours * 3_600) * 1_000_000)
        return Owner(userID: userID, session: .init(id: id, expiresAt: expires ? end : nil))
    }
}

extension Timestamp {
    /// Rounded down.
    var wholeSeconds: Int64 { microseconds / 1_000_000 }
}
