import Basics
import PushRegistry
import Testing

@testable import RegistryStore

/// Calls of the clients of an app in which each user has several installations, and some installations share a device
/// or, in turn, a token. Few installations, so that each of them has a long and varied life.
struct RandomCalls {
    typealias Call = @Sendable (SimulatedService) async throws -> Void

    let app: App
    /// The tokens that installations of `phone` got from their provider so far.
    private var tokens: [Int: Int] = [:]
    private var sessions: [Int: Int] = [:]

    private static let phones = 28
    private static let userCount = 8
    private static let actor = "service:test"

    init(of app: App) {
        self.app = app
    }

    /// - Parameter now: the time of the call.
    mutating func next(_ dice: inout SeededGenerator, at now: Timestamp) throws -> Call {
        switch dice.below(100) {
        case 0..<58: try register(&dice, now)
        case 58..<68: try logOut(&dice)
        case 68..<80: try judge(&dice, now)
        case 80..<84: try delete(&dice)
        case 84..<87: try endSession(&dice)
        case 87..<90: try endUser(&dice)
        case 90..<91: try erase(&dice)
        case 91..<97: try choose(&dice)
        default: try chooseForUser(&dice)
        }
    }

    // MARK: Registering

    private mutating func register(_ dice: inout SeededGenerator, _ now: Timestamp) throws -> Call {
        let phone = dice.below(Self.phones)
        if dice.isTrue(0.1) { tokens[phone, default: 0] += 1 }
        var settings = NotificationSettings()
        settings.authorizationStatus = dice.element(of: [.authorized, .authorized, .denied, .unknown])
        let device = Device(
            installID: try InstallID(Self.name(phone)), keychainID: phone.isMultiple(of: 3) ? "k\(phone / 6)" : nil,
            deviceModel: "x", systemName: "iOS", systemVersion: dice.element(of: ["26.5", "26.6"]),
            locale: LocaleIdentifier(dice.element(of: ["de_DE", "en_US"])), timeZoneID: "Europe/Berlin",
            timeZoneOffset: 3600)
        let text = dice.isTrue(0.2) ? Self.sharedToken(dice.below(5)) : token(of: phone)
        let request = RegistrationRequest(
            token: try Token(text, of: Self.provider(of: phone)), keys: nil,
            snapshot: Snapshot(settings: settings, device: device))
        let registration = Registration(
            request, of: app,
            by: RegistrationClaim(
                of: app, owner: try owner(of: phone, &dice, now), credentialIssuedAt: dice.isTrue(0.5) ? now : nil),
            reader: .service, actor: Self.actor,
            sha256: TestStores.sha256)
        return { service in
            do { _ = try await service.stores.installations.register(registration) } catch is RegistrationRefusal {}
        }
    }

    /// Anonymous, mostly the same user, or another one; often in a session that ends within months.
    private mutating func owner(of phone: Int, _ dice: inout SeededGenerator, _ now: Timestamp) throws -> Owner? {
        guard !dice.isTrue(0.15) else { return nil }
        let user = dice.isTrue(0.8) ? phone % Self.userCount : dice.below(Self.userCount)
        guard dice.isTrue(0.6) else { return Owner(userID: try UserID("user-\(user)")) }
        if dice.isTrue(0.2) { sessions[user, default: 0] += 1 }
        let end = dice.isTrue(0.3) ? nil : now.advanced(by: .hours(Int64(1 + dice.below(2_000))))
        return Owner(userID: try UserID("user-\(user)"), session: .init(id: try session(of: user), expiresAt: end))
    }

    private func session(of user: Int) throws -> SessionID {
        try SessionID("session-\(user)-\(sessions[user, default: 0])")
    }

    private func token(of phone: Int) -> String { "aaaaaaaa\(10_000_000 + phone * 10_000 + tokens[phone, default: 0])" }
    private static func sharedToken(_ number: Int) -> String { "bbbbbbbb\(10_000_000 + number)" }
    private static func name(_ phone: Int) -> String { "phone-\(phone)" }
    private static func provider(of phone: Int) -> Provider { phone % 4 == 3 ? .fcm : .apns }

    private func key(_ phone: Int) throws -> InstallationKey {
        InstallationKey(app: app.number, installID: try InstallID(Self.name(phone)))
    }

    // MARK: Leaving

    private func logOut(_ dice: inout SeededGenerator) throws -> Call {
        let phone = dice.below(Self.phones)
        let user = Owner(userID: try UserID("user-\(phone % Self.userCount)"))
        let logout = Logout(
            key: try key(phone), requester: dice.isTrue(0.5) ? .service : .user(user, credentialIssuedAt: nil),
            keepsAnonymous: dice.isTrue(0.4), precondition: nil, catalogue: app.topics, actor: Self.actor)
        return { service in
            do { _ = try await service.users.logOut(logout) } catch is Logout.Refusal {}
        }
    }

    private func delete(_ dice: inout SeededGenerator) throws -> Call {
        let deletion = Deletion(
            key: try key(dice.below(Self.phones)), requester: .service, precondition: nil, actor: Self.actor)
        return { try await $0.stores.installations.delete(deletion) }
    }

    private func endSession(_ dice: inout SeededGenerator) throws -> Call {
        try end(.session(session(of: dice.below(Self.userCount))))
    }

    private func endUser(_ dice: inout SeededGenerator) throws -> Call {
        let user = dice.below(Self.userCount)
        return try end(.user(UserID("user-\(user)"), except: dice.isTrue(0.3) ? session(of: user) : nil))
    }

    private func end(_ scope: SessionEnd.Scope) -> Call {
        let end = SessionEnd(app: app.number, scope: scope, catalogue: app.topics, actor: Self.actor)
        return { _ = try await $0.users.end(end) }
    }

    private func erase(_ dice: inout SeededGenerator) throws -> Call {
        let erasure = Erasure(
            app: app.number, userID: try UserID("user-\(dice.below(Self.userCount))"), actor: Self.actor)
        return { _ = try await $0.users.erase(erasure) }
    }

    private func judge(_ dice: inout SeededGenerator, _ now: Timestamp) throws -> Call {
        let phone = dice.below(Self.phones)
        let provider = Self.provider(of: phone)
        let text = dice.isTrue(0.2) ? Self.sharedToken(dice.below(5)) : token(of: phone)
        let address = TokenAddress(app: app.number, provider: provider, sha256: TestStores.sha256(Array(text.utf8)))
        let reason = provider == .fcm ? "UNREGISTERED" : dice.element(of: ["Unregistered", "BadDeviceToken"])
        let at = dice.isTrue(0.5) ? nil : now.preceding(by: .hours(Int64(dice.below(240))))
        let item =
            dice.isTrue(0.7)
            ? FeedbackItem(installID: nil, provider: provider, addresses: [address], reason: reason, at: at)
            : FeedbackItem(
                installID: try InstallID(Self.name(phone)), provider: provider, addresses: [], reason: reason, at: at)
        return { [app] in
            _ = try await $0.stores.feedback.apply(Feedback(of: app, items: [item], actor: "sender:test"))
        }
    }

    // MARK: Topics

    private func patch(_ dice: inout SeededGenerator) -> TopicsPatch {
        let choice = dice.optional(of: [true, false])
        return TopicsPatch(
            TopicChange.tolerated([("t\(1 + dice.below(3))", choice)], in: app.topics), of: app, credential: nil,
            actor: Self.actor)
    }

    private func choose(_ dice: inout SeededGenerator) throws -> Call {
        let (patch, key) = (patch(&dice), try key(dice.below(Self.phones)))
        return { service in
            do { _ = try await service.topics.apply(patch, to: key, for: .service) } catch is TopicsPatch.Refusal {}
        }
    }

    private func chooseForUser(_ dice: inout SeededGenerator) throws -> Call {
        let (patch, user) = (patch(&dice), try UserID("user-\(dice.below(Self.userCount))"))
        return { [app] in _ = try await $0.topics.apply(patch, to: user, in: app.number) }
    }
}
