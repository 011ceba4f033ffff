import RegistryTestSupport
import SeededRandom

/// Generates random calls about a few phones, tokens, users and sessions, so that they interfere.
struct ModelClient: Sendable {
    /// The objects of the calls. There are few of each, since calls without interference find no faults.
    struct World: Sendable {
        var phones = ["phone-0", "phone-1", "phone-2"]
        var tokens = (0..<4).map { "\($0)bcdef0123456789" }
        let users = ["alice", "bob", "carol"]
        /// The sessions of each user.
        let sessions = ["1", "2"]
        /// Whether several phones may be reinstalls of one device. The service detects reinstalls only among committed
        /// rows: the mark is a hint, so it cannot be checked with concurrent calls.
        var hasReinstalls = false
    }

    private let world: World
    private var random: SeededGenerator
    /// The generations of each phone in the responses, the newest last.
    private var known: [String: [Int64]] = [:]

    init(_ world: World, seed: UInt64) {
        self.world = world
        random = SeededGenerator(seed: seed)
    }

    /// Remembers the generation of a response.
    mutating func learn(_ step: ModelStep) {
        guard let generation = step.response.generation, let phone = step.call.phone else { return }
        known[phone, default: []].append(generation)
    }

    mutating func nextCall() -> ModelCall {
        let phone = random.pick(world.phones)
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<46: return .register(registration(phone))
        case 46..<58:
            return .logOut(
                phone: phone, by: credential(), keepsAnonymous: random.chance(25), ifMatch: precondition(phone))
        case 58..<64: return .remove(phone: phone, by: credential(), ifMatch: precondition(phone))
        case 64..<69: return .endSession(session(of: random.pick(world.users)))
        case 69..<73:
            let user = random.pick(world.users)
            return .logOutUser(user, except: random.chance(40) ? session(of: user) : nil)
        case 73..<75: return .erase(random.pick(world.users))
        case 75..<88: return .feedback((0..<random.pick([1, 1, 1, 2, 4])).map { _ in feedback() })
        case 88..<96: return .read(phone: phone, by: credential())
        default: return .list(user: random.pick(world.users))
        }
    }

    /// Uses mostly the phone's own token, so that many registrations are unchanged.
    private mutating func registration(_ phone: String) -> ModelRegistration {
        let own = world.tokens[(world.phones.firstIndex(of: phone) ?? 0) % world.tokens.count]
        return ModelRegistration(
            phone: phone, provider: random.pick(["apns", "apns", "apns", "apns", "apnsSandbox", "fcm"]),
            token: random.chance(60) ? own : random.pick(world.tokens), snapshot: snapshot(phone),
            credential: credential(), ifMatch: precondition(phone))
    }

    private mutating func snapshot(_ phone: String) -> ModelSnapshot {
        let keychain = world.hasReinstalls && random.chance(30) ? "a shared keychain" : "keychain of \(phone)"
        return ModelSnapshot(
            authorization: random.pick(["authorized", "authorized", "authorized", "denied", "unknown"]),
            keychain: keychain, vendor: random.chance(90) ? "vendor" : nil)
    }

    private mutating func credential() -> ModelCredential {
        let user = random.pick(world.users)
        let session = random.chance(70) ? session(of: user) : nil
        switch Int.random(in: 0..<10, using: &random) {
        case 0: return .publishableKey
        case 1: return .service
        case 2..<5:
            let expiry: Int64? = session == nil || random.chance(70) ? nil : random.pick([Wall.day(-1), Wall.day(1)])
            return .service(user: user, session: session, expiresAt: expiry)
        default:
            // Never in the same second as a logout: pauses are whole hours.
            let age: Int64 = random.pick([-20, -20, 2 * 3_600 + 420, 30 * 3_600 + 420])
            return .jwt(user: user, session: session, issuedAt: (Wall.microseconds / 1_000_000 - age) * 1_000_000)
        }
    }

    private mutating func session(of user: String) -> String { "\(user)-\(random.pick(world.sessions))" }

    private mutating func precondition(_ phone: String) -> ModelPrecondition? {
        guard random.chance(25) else { return nil }
        guard let latest = known[phone]?.last, random.chance(85) else { return .exists }
        return .generation(random.chance(75) ? latest : random.pick(known[phone] ?? [latest]))
    }

    private mutating func feedback() -> ModelFeedback {
        let phone = random.pick(world.phones)
        let namesToken = random.chance(70)
        let namesPhone = !namesToken || random.chance(20)
        let provider = random.pick(["apns", "apns", "apns", "apnsSandbox", "fcm"])
        return ModelFeedback(
            phone: namesPhone ? phone : nil, provider: namesToken || random.chance(30) ? provider : nil,
            token: namesToken ? random.pick(world.tokens) : nil,
            reason: random.pick(["Unregistered", "Unregistered", "BadDeviceToken", "UNREGISTERED", "Throttled"]),
            at: random.chance(50) ? Wall.microseconds - random.pick([-60, 0, 3_600, 90_000]) * 1_000_000 : nil,
            generation: random.chance(20) ? known[phone]?.randomElement(using: &random) : nil)
    }
}

extension ModelCall {
    /// The installation of the call; nil if it has none.
    fileprivate var phone: String? {
        switch self {
        case .register(let registration): registration.phone
        case .read(let phone, _), .remove(let phone, _, _), .logOut(let phone, _, _, _): phone
        default: nil
        }
    }
}

extension Wall {
    /// Midnight of the day that is `number` days from today.
    fileprivate static func day(_ number: Int64) -> Int64 {
        (microseconds / 86_400_000_000 + number) * 86_400_000_000
    }
}
