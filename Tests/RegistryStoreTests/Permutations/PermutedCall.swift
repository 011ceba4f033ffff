import Basics
import PostgresClient
import PushRegistry

@testable import RegistryJobs
@testable import RegistryStore

/// Every kind of write, about one phone `p` with a token `t` and a user alice. A second phone `q` is for takeovers.
enum PermutedCall: String, CaseIterable, Sendable {
    /// The first registration, a sign-in, a comeback, or one that changes nothing: by the state of the phone.
    case register
    case registerAnonymously
    /// With another locale, by which the roll-up groups.
    case changeSnapshot
    case rotateToken
    case changeOwner
    case changeSession
    /// `q` registers with the phone's token.
    case takeOver
    /// `p` registers with the token of `q`.
    case takeOverBack
    /// `q` registers with the keychain id of `p`.
    case reinstall
    /// Of a user who is not bound.
    case logOutIdly
    case logOut
    case endSession
    /// Bob's session s2.
    case endOtherSession
    case logOutUser
    case logOutUserExceptSession
    case erase
    case delete
    case judge
    case cleanUp
    case importPhone
    case chooseTopics
    case chooseTopicsOfUser
    /// `p` registers with APNs, and brings typed tokens.
    case bringTokens
    /// `q` registers with APNs, and brings one of these.
    case takeTokens
    /// A call about this token of `p` alone.
    case putToken
    /// A verdict on this token.
    case judgeToken
}

/// What may happen at another moment than the rest of a call, as the rules of the registry allow.
struct PermutedRelaxation: OptionSet, Hashable, Sendable {
    let rawValue: Int

    /// Feedback dates from its receipt, which may be before calls that end before it is written (fine print 22).
    static let judgesEarlier = Self(rawValue: 1)
    /// The night job leaves an installation that changed after it was read to the next night.
    static let skipsCleanUp = Self(rawValue: 2)
    /// Two first registrations at the same time do not see each other's keychain id (R5).
    static let marksNothing = Self(rawValue: 4)
}

/// What the registry knows of the phone before the calls.
enum PermutedStart: String, CaseIterable, Sendable {
    case nothing
    case anonymous
    /// Alice's session s1 on `p`; `q` has a token of its own and is bob's.
    case bound
    /// As bound, but `q` is alice's, too, and `p` has a choice about a topic.
    case twiceBound
    case loggedOut
    /// It was alice's.
    case deleted
    /// As bound, and the session has expired.
    case expired
    /// As bound, and silent for so long that the installation is stale.
    case silent
}

/// The names of one execution: those of another one are different.
struct PermutedWorld: Sendable {
    let number: Int
    /// When feedback arrives; nil for the time of its call.
    var arrival: ContinuousClock.Instant?

    func name(_ name: String) -> String { "\(name)-w\(number)" }

    func registration(
        _ phone: String = "p", token: String = "t", user: String? = "alice", session: String? = "s1",
        locale: String = "de_DE", keychain: String? = nil, expiresAt: Timestamp? = nil
    ) throws -> Registration {
        try .make(
            name(phone), token: name(token), user: user.map(name), locale: locale, session: session.map(name),
            expiresAt: expiresAt, keychain: name(keychain ?? phone))
    }

    /// Tokens are locked by their digests: in worlds with one order of them, the same calls wait for the same locks.
    var hasTokensInOrder: Bool {
        let digests =
            ["t", "t2", "u"].map { TestStores.sha256(Array(name($0).utf8)) }
            + ["apns-p", "apns-q"].map { TestStores.sha256(Array(String(hex: name($0).utf8).utf8)) }
        return zip(digests, digests.dropFirst()).allSatisfy { $0.lexicographicallyPrecedes($1) }
    }

    func typed(_ kind: TokenKind) throws -> SentTypedToken { try .make(kind, name("typed")) }
    func user(_ name: String) throws -> UserID { try UserID(self.name(name)) }
    func session(_ name: String) throws -> SessionID { try SessionID(self.name(name)) }
    func key(_ phone: String) throws -> InstallationKey {
        InstallationKey(app: AppNumber(1), installID: try InstallID(name(phone)))
    }
}

/// The stores of one process, with what a night job and an import use.
struct PermutedStores: Sendable {
    let postgres: PostgresClient
    let installations: PostgresInstallationStore
    let users: PostgresUserStore
    let feedback: PostgresFeedbackStore
    let topics: PostgresTopicStore
    /// Of sessions that are not the service's.
    let configuration: PostgresConfiguration
    let cleanUpRun: Int32
    let app: App

    init(
        _ resources: LoopResources, _ configuration: PostgresConfiguration, cleanUpRun: Int32, _ app: App
    ) {
        postgres = resources.postgres
        installations = PostgresInstallationStore(resources)
        users = PostgresUserStore(resources)
        feedback = PostgresFeedbackStore(resources)
        topics = PostgresTopicStore(resources)
        (self.configuration, self.cleanUpRun, self.app) = (configuration, cleanUpRun, app)
    }

    func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await postgres.run() }
            group.addTask { await installations.run() }
            group.addTask { await users.run() }
            group.addTask { await topics.run() }
        }
    }
}

// MARK: - Carrying out

extension PermutedStores {
    private static let actor = "service:test"
    static let cleanedUp = "cleaned up"

    /// - Returns: the outcome without times; generations have the form `phone:g1`.
    func outcome(of call: PermutedCall, in world: PermutedWorld) async -> String {
        do {
            return try await carryOut(call, world)
        } catch let refusal as RegistrationRefusal {
            return "refused: \(refusal)"
        } catch let refusal as Logout.Refusal {
            return "refused: \(refusal)"
        } catch let refusal as TypedTokenRefusal {
            return "refused: \(refusal)"
        } catch let refusal as TopicsPatch.Refusal {
            return "refused: \(refusal)"
        } catch {
            return "FAILED: \(error)"
        }
    }

    private func carryOut(_ call: PermutedCall, _ world: PermutedWorld) async throws -> String {
        switch call {
        case .register: try await register(world.registration())
        case .registerAnonymously: try await register(world.registration(user: nil, session: nil))
        case .changeSnapshot: try await register(world.registration(locale: "fr_FR"))
        case .rotateToken: try await register(world.registration(token: "t2"))
        case .changeOwner: try await register(world.registration(user: "bob", session: "s2"))
        case .changeSession: try await register(world.registration(session: "s3"))
        case .takeOver: try await register(world.registration("q", user: "bob", session: "s2"))
        case .takeOverBack: try await register(world.registration(token: "u"))
        case .reinstall: try await register(world.registration("q", token: "u", keychain: "p"))
        case .logOutIdly: try await logOut(world, "bob", "s2")
        case .logOut: try await logOut(world, "alice", "s1")
        case .endSession: try await end(.session(world.session("s1")))
        case .endOtherSession: try await end(.session(world.session("s2")))
        case .logOutUser: try await end(.user(world.user("alice"), except: nil))
        case .logOutUserExceptSession: try await end(.user(world.user("alice"), except: world.session("s3")))
        case .erase: try await erase(world)
        case .delete: try await delete(world)
        case .judge: try await judge(world.name("t"), of: .fcm, "UNREGISTERED", world)
        case .judgeToken: try await judge(world.typed(.voip).token.text, of: .apns, "Unregistered", world)
        case .cleanUp: try await cleanUp(world)
        case .importPhone: try await importPhone(world)
        case .bringTokens:
            try await register(
                .make(
                    world.name("p"), token: world.name("apns-p"), user: world.name("alice"),
                    session: world.name("s1"), keychain: world.name("p"), provider: .apns,
                    tokens: [world.typed(.voip), world.typed(.widget)]))
        case .takeTokens:
            try await register(
                .make(
                    world.name("q"), token: world.name("apns-q"), user: world.name("bob"),
                    session: world.name("s2"), keychain: world.name("q"), provider: .apns,
                    tokens: [world.typed(.voip)]))
        case .putToken: try await putToken(world)
        case .chooseTopics:
            "\(try await topics.apply(patch(false, "t2"), to: world.key("p"), for: .user(world.user("alice"))))"
        case .chooseTopicsOfUser:
            "\(try await topics.apply(patch(true, "t1"), to: world.user("alice"), in: app.number))"
        }
    }

    func register(_ registration: Registration) async throws -> String {
        let outcome = try await installations.register(registration)
        return "\(outcome.status) \(outcome.state) \(outcome.userID?.rawValue ?? "-") "
            + "\(registration.key.installID.rawValue):g\(outcome.generation)"
    }

    private func logOut(_ world: PermutedWorld, _ user: String, _ session: String) async throws -> String {
        let owner = Owner(
            userID: try world.user(user), session: Owner.Session(id: try world.session(session), expiresAt: nil))
        let outcome = try await users.logOut(
            Logout(
                key: world.key("p"), requester: .user(owner, credentialIssuedAt: nil), keepsAnonymous: false,
                precondition: nil, catalogue: app.topics, actor: Self.actor))
        return "\(outcome.status) \(outcome.generation.map { "\(world.name("p")):g\($0)" } ?? "-")"
    }

    private func end(_ scope: SessionEnd.Scope) async throws -> String {
        let end = SessionEnd(app: app.number, scope: scope, catalogue: app.topics, actor: Self.actor)
        return "ended \(try await users.end(end))"
    }

    private func erase(_ world: PermutedWorld) async throws -> String {
        let receipt = try await users.erase(
            Erasure(app: app.number, userID: world.user("alice"), actor: Self.actor))
        return "erased \(receipt.installations), \(receipt.snapshots), \(receipt.events), \(receipt.topics)"
    }

    private func delete(_ world: PermutedWorld) async throws -> String {
        try await installations.delete(
            Deletion(key: world.key("p"), requester: .service, precondition: nil, actor: Self.actor))
        return "deleted"
    }

    private func judge(
        _ token: String, of provider: Provider, _ reason: String, _ world: PermutedWorld
    ) async throws -> String {
        let address = TokenAddress(
            app: app.number, provider: provider, sha256: TestStores.sha256(Array(token.utf8)))
        let item = FeedbackItem(installID: nil, provider: provider, addresses: [address], reason: reason)
        let counts = try await feedback.apply(
            Feedback(of: app, items: [item], actor: "sender:test", arrivedAt: world.arrival ?? .now))
        return "\(counts)"
    }

    /// As the night job writes a due installation that it has read.
    private func cleanUp(_ world: PermutedWorld) async throws -> String {
        let (run, app, phone) = (cleanUpRun, app, world.name("p"))
        return try await PostgresSession.withSession(configuration) { session in
            let work = CleanUpWork(
                session: session, nodes: try CleanUpNodes(session), ledger: CleanUpLedger(session: session), run: run)
            let bounds = CleanUpStatements.bounds([(app.number, CleanUpBounds(app.policy, asOf: .now()))])
            let due = try DueInstallations.read(PageRange(pages: 0..<1_000_000), bounds, withKeys: true, session)
            for found in due {
                guard let step = found.step else { continue }
                let keys = found.keys.filter { $0.installID == phone }
                guard !keys.isEmpty else { continue }
                try work.write(CleanUpWork.Batch(app: app.number, step: step, rows: keys))
            }
            return Self.cleanedUp
        }
    }

    private func importPhone(_ world: PermutedWorld) async throws -> String {
        var record = ImportRecord()
        (record[.installID], record[.token], record[.userID]) = (world.name("p"), world.name("t"), world.name("alice"))
        (record[.locale], record[.timeZone], record[.utcOffset]) = ("de_DE", "Europe/Berlin", "3600")
        (record[.deviceModel], record[.systemName], record[.osVersion]) = ("iPhone17,3", "iOS", "26.5")
        record[.provider] = "fcm"
        var reader = ImportReader(links: TimeZoneLinks(zones: "Z Europe/Berlin 1 - CET", table: ""))
        let line = try reader.installation(record)
        let lane = InstallationImporter.lane(of: line)
        let rest = Locked([[line]])
        let counts = try await InstallationImporter(into: app.number, topics: app.topics).load(
            configuration, from: { $0 == lane ? rest.withLock { $0.popLast() } : nil })
        // A line whose installation is deleted before it is counted is skipped instead of unchanged.
        return "imported \(counts.imported)"
    }

    private func putToken(_ world: PermutedWorld) async throws -> String {
        let outcome = try await installations.change(
            TypedTokenChange(
                .put(world.typed(.voip), environment: nil), on: world.key("p"), of: app, for: .service, by: .owner,
                credential: nil, precondition: nil, actor: Self.actor))
        return "put \(outcome.count) \(world.name("p")):g\(outcome.generation)"
    }

    private func patch(_ choice: Bool, _ slug: String) -> TopicsPatch {
        TopicsPatch(
            TopicChange.tolerated([(slug, choice)], in: app.topics), of: app, credential: nil, actor: Self.actor)
    }
}

// MARK: - Before the calls

extension PermutedStores {
    /// Brings the phone into a state by calls and, where time must pass, by SQL.
    func prepare(_ start: PermutedStart, _ world: PermutedWorld) async throws {
        switch start {
        case .nothing: break
        case .anonymous: _ = try await register(world.registration(user: nil, session: nil))
        case .bound, .twiceBound, .loggedOut, .deleted, .expired, .silent:
            let expiry = start == .expired ? Timestamp(microseconds: Timestamp.now().microseconds - 60_000_000) : nil
            _ = try await register(world.registration(expiresAt: expiry))
            let other = start == .twiceBound ? ("alice", "s1") : ("bob", "s2")
            _ = try await register(world.registration("q", token: "u", user: other.0, session: other.1))
            // Choices keep registrations from being written in one trip.
            if ![.bound, .loggedOut].contains(start) {
                _ = try await topics.apply(patch(false, "t2"), to: world.key("p"), for: .service)
            }
        }
        switch start {
        case .nothing, .anonymous, .bound, .twiceBound, .expired: break
        case .deleted: _ = try await delete(world)
        case .loggedOut: _ = try await logOut(world, "alice", "s1")
        case .silent:
            _ = try await postgres.execute(
                """
                UPDATE installation SET created_at = created_at - interval '90 days',
                    registered_at = registered_at - interval '90 days',
                    last_seen_at = last_seen_at - interval '90 days',
                    state_changed_at = state_changed_at - interval '90 days'
                WHERE app_id = 1 AND install_id = \(world.name("p"))
                """)
        }
    }
}
