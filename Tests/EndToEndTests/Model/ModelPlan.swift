import Basics
import RegistryTestSupport

/// What happens in one app: rounds of concurrent calls, and the faults of each round. It follows from a seed and can be
/// stored, shortened and repeated; only the timing differs.
struct ModelPlan: Hashable, Codable, Sendable {
    /// A call of a client.
    struct Call: Hashable, Codable, Sendable {
        let call: ModelCall
        /// The client waits this long before it sends the call.
        var pauseMilliseconds = 0
        /// Whether the client closes its connection instead of waiting for the response.
        var isAbandoned = false
    }

    struct Round: Hashable, Codable, Sendable {
        /// The time since the round before, simulated.
        var pauseHours: Int64 = 0
        /// The calls of each client, in order.
        var clients: [[Call]]
        /// Whether the clients send their first calls at once, then their second calls, and so on: the best race.
        var isInVolleys = false
        var faults: [TimedFault]

        var count: Int { clients.reduce(0) { $0 + $1.count } }

        /// What the clients do between two moments at which they wait for one another.
        var volleys: [[[Call]]] {
            guard isInVolleys else { return [clients] }
            return (0..<(clients.map(\.count).max() ?? 0)).map { index in
                clients.map { $0.indices.contains(index) ? [$0[index]] : [] }
            }
        }
    }

    var rounds: [Round]

    var count: Int { rounds.reduce(0) { $0 + $1.count } }

    var hasJobs: Bool { rounds.contains { $0.faults.contains(where: \.fault.isJob) } }

    var servers: FaultyRegistry.Servers {
        if rounds.contains(where: { $0.faults.contains { $0.fault == .failOver } }) { return .standby }
        return rounds.contains { $0.faults.contains(where: \.fault.isStep) } ? .movableClock : .shared
    }
}

// MARK: - Generation

extension ModelPlan {
    private static let rounds = 4
    private static let callsPerRound = 12

    /// - Parameters:
    ///   - copy: plans of one seed have the same faults, and other calls in each copy.
    init(seed: UInt64, copy: Int) {
        let nemesis = Nemesis(seed: seed)
        var chance = SeededGenerator(seed: seed)
        var calls = ModelCalls(nemesis, seed: seed &* 1_000 &+ UInt64(copy))
        let clients = nemesis == .sequential ? 1 : 3
        rounds = (0..<Self.rounds).map { number in
            let faults = nemesis.faults(ofRound: number, &chance)
            return calls.round(clients, calls: Self.callsPerRound / clients, beside: faults)
        }
    }
}

/// Generates random calls about a few phones, tokens, users and sessions, so that they interfere.
private struct ModelCalls {
    private let nemesis: Nemesis
    private let phones: [String]
    private var random: SeededGenerator
    /// Of tokens beside the main ones: without them a seed has the same calls.
    private var typedRandom: SeededGenerator
    /// What most of the calls that the clients send at the same time are about.
    private var focus: (phone: String, user: String, session: Int)
    /// The share of calls that are about that, in percent.
    private var closeness = 0
    /// The newest session: most sign-ins are new sessions, as ended ones are refused.
    private var newestSession = 1

    /// The pauses between two rounds, below and above the touch interval. No sum of them equals the lifetime of
    /// tombstones.
    private static let pauseHours: [Int64] = [3, 26, 60]

    init(_ nemesis: Nemesis, seed: UInt64) {
        self.nemesis = nemesis
        phones = nemesis == .sequential ? ModelApp.phones : Array(ModelApp.phones.dropLast())
        random = SeededGenerator(seed: seed)
        typedRandom = SeededGenerator(seed: ~seed)
        focus = (phones[0], ModelApp.users[0], 1)
    }

    mutating func round(_ clients: Int, calls: Int, beside faults: [TimedFault]) -> ModelPlan.Round {
        // The night job would also delete old tombstones.
        let isLater = !nemesis.hasJobs && nemesis != .clock && random.chance(40)
        let isInVolleys = random.chance(75)
        // Calls with pauses meet the faults.
        let pauseMax = isInVolleys ? 0 : (faults.map(\.milliseconds).max() ?? 0) / 2
        var plans = Array(repeating: [ModelPlan.Call](), count: clients)
        for _ in 0..<calls {
            if random.chance(60) { newestSession += 1 }
            focus = (random.pick(phones), random.pick(ModelApp.users), newestSession)
            closeness = random.pick([50, 100, 100])
            for client in plans.indices {
                let pause = Int.random(in: 0...pauseMax, using: &random)
                let isAbandoned = nemesis.hasImpatientClients && random.chance(10)
                plans[client].append(.init(call: next(), pauseMilliseconds: pause, isAbandoned: isAbandoned))
            }
        }
        return ModelPlan.Round(
            pauseHours: isLater ? random.pick(Self.pauseHours) : 0, clients: plans, isInVolleys: isInVolleys,
            faults: faults)
    }

    private mutating func next() -> ModelCall {
        let phone = phone()
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<46: return .register(registration(phone))
        case 46..<60:
            return .logOut(phone: phone, by: credential(), keepsAnonymous: random.chance(25), ifMatch: precondition())
        case 60..<65: return .remove(phone: phone, by: credential(), ifMatch: precondition())
        case 65..<70: return .endSession(random.chance(50) ? session(of: user()) : earlierSession(of: user()))
        case 70..<74:
            let user = user()
            return .logOutUser(user, except: random.chance(40) ? session(of: user) : nil)
        case 74..<76: return .erase(user())
        case 76..<88: return .feedback((0..<random.pick([1, 1, 1, 2, 4])).map { _ in feedback() })
        case 88..<96: return .read(phone: phone, by: credential())
        default: return .list(user: user())
        }
    }

    private mutating func phone() -> String { random.chance(closeness) ? focus.phone : random.pick(phones) }
    private mutating func user() -> String { random.chance(closeness) ? focus.user : random.pick(ModelApp.users) }

    private mutating func session(of user: String) -> String {
        random.chance(closeness) ? "\(user)-\(focus.session)" : earlierSession(of: user)
    }

    /// Most sessions were seen before they end.
    private mutating func earlierSession(of user: String) -> String {
        "\(user)-\(newestSession - random.pick([0, 1, 2]))"
    }

    /// Uses mostly the phone's own token, so that many registrations are unchanged.
    private mutating func registration(_ phone: String) -> ModelRegistration {
        let own = ModelApp.tokens[(phones.firstIndex(of: phone) ?? 0) % ModelApp.tokens.count]
        var registration = ModelRegistration(
            phone: phone, provider: random.chance(max(closeness, 70)) ? "apns" : random.pick(["apnsSandbox", "fcm"]),
            token: random.chance(max(closeness, 60)) ? own : random.pick(ModelApp.tokens), snapshot: snapshot(phone),
            credential: credential(), ifMatch: precondition())
        if typedRandom.chance(50) {
            let all = registration.provider == "fcm" ? [] : ModelApp.typedTokens
            registration.typed = all.filter { _ in typedRandom.chance(40) }
        }
        return registration
    }

    /// Only without concurrency can several phones be reinstalls of one device: the service detects reinstalls among
    /// committed rows. The mark is a hint.
    private mutating func snapshot(_ phone: String) -> ModelSnapshot {
        let isReinstall = nemesis == .sequential && random.chance(30)
        return ModelSnapshot(
            authorization: random.pick(["authorized", "authorized", "authorized", "denied", "unknown"]),
            keychain: isReinstall ? "a shared keychain" : "keychain of \(phone)",
            vendor: random.chance(90) ? "vendor" : nil)
    }

    private mutating func credential() -> ModelCredential {
        let user = user()
        let session = random.chance(75) ? session(of: user) : nil
        switch Int.random(in: 0..<10, using: &random) {
        case 0: return .publishableKey
        case 1: return .service
        case 2..<5:
            let hasExpiry = session != nil && random.chance(nemesis.hasJobs ? 70 : 30)
            return .service(
                user: user, session: session, expiresAt: hasExpiry ? random.pick([-1, 1]) * 86_400_000_000 : nil)
        default:
            // A logout refuses what was issued until 30 seconds after it, and pauses are whole hours: no age is near a
            // limit, however long a round takes. One in the future counts as 30 seconds old.
            let age: Int64 = random.pick([-20, 600, 600, 2 * 3_600 + 420, 30 * 3_600 + 420])
            return .jwt(user: user, session: session, issuedAt: -age * 1_000_000)
        }
    }

    private mutating func precondition() -> ModelPrecondition? {
        guard random.chance(25) else { return nil }
        guard random.chance(85) else { return .exists }
        return .generation(random.chance(75) ? -1 : Int64.random(in: -4...(-1), using: &random))
    }

    private mutating func feedback() -> ModelFeedback {
        let phone = phone()
        let namesToken = random.chance(70)
        let namesPhone = !namesToken || random.chance(20)
        let provider = random.pick(["apns", "apns", "apns", "apnsSandbox", "fcm"])
        return ModelFeedback(
            phone: namesPhone ? phone : nil, provider: namesToken || random.chance(30) ? provider : nil,
            token: namesToken ? random.pick(ModelApp.tokens) : nil,
            reason: random.pick(["Unregistered", "Unregistered", "BadDeviceToken", "UNREGISTERED", "Throttled"]),
            at: random.chance(50) ? -random.pick([-60, 0, 3_600, 90_000]) * 1_000_000 : nil,
            generation: random.chance(20) ? Int64.random(in: -4...(-1), using: &random) : nil)
    }
}
