import Crypto
import PushRegistry

/// Installations like those of a real app in 2026, made from a seed: for tests and benchmarks.
///
///     let fleet = try Fleet(seed: 1, app: app, count: 1_000_000, asOf: now)
///     let request = fleet[17].body()
///
/// Installation `n` is a pure function of the seed and `n` (its times of `asOf` too), so nobody has to keep a fleet:
/// who wants to send what installation 17 sent makes it again. Numbers beyond `count` are installations yet to come.
///
/// Platforms, systems, models, countries, locales and time zones are as common as public statistics say, see `Weights`;
/// three of four people are signed in, some of them on several devices; one installation in a hundred is odd (`Trap`).
public struct Fleet: Sendable {
    public let seed: UInt64
    public let app: App
    public let count: Int
    /// The moment that the fleet shows: nobody was seen later.
    public let asOf: Timestamp
    public let silence: Silence
    private let links: TimeZoneLinks

    /// - Parameters:
    ///   - silence: how long the installations have not been seen.
    ///   - links: tzdata's, which the service resolves names by.
    public init(
        seed: UInt64, app: App, count: Int, asOf: Timestamp, silence: Silence = .spread, links: TimeZoneLinks
    ) {
        self.seed = seed
        self.app = app
        self.count = count
        self.asOf = asOf
        self.silence = silence
        self.links = links
    }

    public var indices: Range<Int> { 0..<count }

    public subscript(number: Int) -> FleetInstallation {
        var random = FleetRandom(seed: seed, .device, number)
        let (person, platform) = Person.owner(of: number, seed: seed)
        var sent = SentDevice.make(installID(number), of: person, on: platform, &random)
        let settings = NotificationSettings.make(on: platform, &random)
        springTrap(on: &sent, number)
        var secrets = FleetRandom(seed: seed, .token, number)
        let token = Token.make(of: .make(on: platform, in: person.zone, &secrets), &secrets)
        return FleetInstallation(
            number: number, platform: platform, token: token,
            keys: token.provider == .webPush ? .make(&secrets) : nil, settings: settings, sent: sent,
            device: sent.canonical(storesAdvertisingID: app.policy.storesAdvertisingID, links: links),
            owner: person.userID.map { owner($0, &random) }, times: .make(asOf, silence, &random))
    }

    /// The id of installation `number`, which SQL finds as well: `md5('<seed>-<number>')::uuid::text`.
    public func installID(_ number: Int) -> InstallID {
        let digits = Insecure.MD5.hash(data: Array("\(seed)-\(number)".utf8)).flatMap { byte in
            [FleetRandom.hexDigits[Int(byte >> 4)], FleetRandom.hexDigits[Int(byte & 15)]]
        }
        let parts = [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(decoding: digits[$0], as: UTF8.self) }
        return made { () throws(InvalidValue) in try InstallID(parts.joined(separator: "-")) }
    }

    private func springTrap(on device: inout SentDevice, _ number: Int) {
        var random = FleetRandom(seed: seed, .trap, number)
        guard random.below(Trap.oneIn) == 0 else { return }
        random.element(of: Trap.allCases).spring(on: &device, &random)
    }

    /// Each installation has a session of its own. One in twenty ends some day: some within the hour, some long ago.
    private func owner(_ userID: UserID, _ random: inout FleetRandom) -> Owner {
        let id = made { () throws(InvalidValue) in try SessionID("session-\(random.hex(16))") }
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
