import PushRegistry

/// The person who owns an installation; a person owns one to four of them.
///
/// Installation numbers form blocks of four. In some blocks the first two, three or four installations belong to one
/// person; the others have a person each. So an installation's number is enough to find its person.
struct Person {
    static let blockSize = 4
    /// How many installations of a block its first person owns, in percent of blocks (estimated).
    private static let sizes = WeightedChoice<Int>([(1, 55), (2, 30), (3, 10), (4, 5)])
    /// The share of people who are signed in.
    private static let signedInShare = 0.75
    /// The share of a person's further installations that have the platform of the first one.
    private static let samePlatformShare = 0.8

    let userID: UserID?
    /// A BCP 47 tag.
    let locale: String
    let zone: Zone
    let platform: Platform
    /// All Apple devices of a person share an iCloud keychain.
    let keychainID: String
    let sharesKeychain: Bool

    private init(number: Int, seed: UInt64) {
        var random = FleetRandom(seed: seed, .person, number)
        platform = DeviceWeights.platform.pick(&random)
        locale = platform.locales.pick(&random)
        zone = Self.zone(of: locale, &random)
        userID =
            random.isTrue(Self.signedInShare)
            ? mustSucceed { () throws(InvalidValue) in try UserID("user-\(number)") } : nil
        keychainID = random.upperUUID()
        sharesKeychain = random.isTrue(0.6)
    }

    /// The person who owns the installation, and the installation's platform.
    static func owner(of installation: Int, seed: UInt64) -> (person: Person, platform: Platform) {
        let (block, index) = installation.quotientAndRemainder(dividingBy: blockSize)
        var random = FleetRandom(seed: seed, .person, -1 - block)
        let isShared = index < sizes.pick(&random)
        let person = Person(number: isShared ? block * blockSize : installation, seed: seed)
        guard isShared, index > 0 else { return (person, person.platform) }
        var choice = FleetRandom(seed: seed, .person, -1 - block - (index << 40))
        return (person, choice.isTrue(samePlatformShare) ? person.platform : DeviceWeights.platform.pick(&choice))
    }

    private static func zone(of locale: String, _ random: inout FleetRandom) -> Zone {
        let region = locale.split(separator: "-").last.map(String.init) ?? ""
        guard let zones = Zone.byRegion[region] else { preconditionFailure("no time zones for \(locale)") }
        return zones.pick(&random)
    }
}

/// Returns the value of `body`, which must not throw: generated values are valid by construction.
func mustSucceed<Value, Failure: Error>(_ body: () throws(Failure) -> Value) -> Value {
    do throws(Failure) {
        return try body()
    } catch {
        preconditionFailure("the fleet generator generated an invalid value: \(error)")
    }
}

/// The platform of an installation.
public enum Platform: String, CaseIterable, Hashable, Sendable {
    case ios, android, web

    /// The locales of its users. There are no published figures for browsers, so they use Android's.
    var locales: WeightedChoice<String> {
        self == .ios ? LocaleWeights.ios : LocaleWeights.android
    }
}
