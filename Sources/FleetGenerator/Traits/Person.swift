import PushRegistry

/// The person who has the installations: each person has one to four of them.
///
/// Numbers are dealt in blocks of four. In some blocks the first two, three or four installations belong to one person;
/// the rest have one each. So a person is found from any of his installations' numbers without a look at others.
struct Person {
    static let blockSize = 4
    /// How many installations of a block its first person has, in percent of blocks: an estimate.
    private static let sizes = WeightedChoice<Int>([(1, 55), (2, 30), (3, 10), (4, 5)])
    /// The share of people who are signed in.
    private static let signedIn = 0.75
    /// Where the person's further installations run on what the first one does.
    private static let loyalty = 0.8

    let userID: UserID?
    /// A BCP 47 tag.
    let locale: String
    let zone: Zone
    let platform: Platform
    /// An iCloud keychain is shared by all of a person's Apple devices.
    let keychainID: String
    let sharesKeychain: Bool

    private init(number: Int, seed: UInt64) {
        var random = FleetRandom(seed: seed, .person, number)
        platform = DeviceWeights.platform.pick(&random)
        locale = platform.locales.pick(&random)
        zone = Self.zone(of: locale, &random)
        userID = random.isTrue(Self.signedIn) ? made { () throws(InvalidValue) in try UserID("user-\(number)") } : nil
        keychainID = random.upperUUID()
        sharesKeychain = random.isTrue(0.6)
    }

    /// The person who has the installation, and what that one runs on.
    static func owner(of installation: Int, seed: UInt64) -> (person: Person, platform: Platform) {
        let (block, place) = installation.quotientAndRemainder(dividingBy: blockSize)
        var random = FleetRandom(seed: seed, .person, -1 - block)
        let isShared = place < sizes.pick(&random)
        let person = Person(number: isShared ? block * blockSize : installation, seed: seed)
        guard isShared, place > 0 else { return (person, person.platform) }
        var choice = FleetRandom(seed: seed, .person, -1 - block - (place << 40))
        return (person, choice.isTrue(loyalty) ? person.platform : DeviceWeights.platform.pick(&choice))
    }

    private static func zone(of locale: String, _ random: inout FleetRandom) -> Zone {
        let region = locale.split(separator: "-").last.map(String.init) ?? ""
        guard let zones = Zone.byRegion[region] else { preconditionFailure("no time zones for \(locale)") }
        return zones.pick(&random)
    }
}

/// What the generator makes is valid by construction; a fault is the generator's own.
func made<Value, Failure: Error>(_ make: () throws(Failure) -> Value) -> Value {
    do throws(Failure) {
        return try make()
    } catch {
        preconditionFailure("the fleet generator made something invalid: \(error)")
    }
}
