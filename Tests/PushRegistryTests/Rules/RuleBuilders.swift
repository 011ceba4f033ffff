import Basics

@testable import PushRegistry

extension Timestamp {
    /// Seconds since the beginning of the tests' time.
    static func at(_ seconds: Int64) -> Timestamp {
        Timestamp(microseconds: (1_900_000_000 + seconds) * 1_000_000)
    }
}

extension InstallationKey {
    static func make(_ installID: String, app: Int32 = 1) -> InstallationKey {
        InstallationKey(app: AppNumber(app), installID: .make(installID))
    }
}

extension InstallID {
    static func make(_ text: String) -> InstallID { valid { () throws(InvalidValue) in try InstallID(text) } }
}

extension UserID {
    static func make(_ text: String) -> UserID { valid { () throws(InvalidValue) in try UserID(text) } }
}

extension Owner {
    static func make(_ user: String, session: String? = nil, until: Timestamp? = nil) -> Owner {
        Owner(
            userID: .make(user),
            session: session.map { text in
                Session(id: valid { () throws(InvalidValue) in try SessionID(text) }, expiresAt: until)
            })
    }
}

extension Device {
    static func make(
        _ installID: String = "phone", keychainID: String? = nil, vendorID: String? = nil,
        deviceModel: String = "iPhone17,3", carrier: String? = nil
    ) -> Device {
        Device(
            installID: .make(installID), keychainID: keychainID, vendorID: vendorID, deviceModel: deviceModel,
            systemName: "iOS", systemVersion: "26.5", locale: LocaleIdentifier("de_DE"), timeZoneID: "Europe/Berlin",
            timeZoneOffset: 3600, carrier: carrier)
    }
}

extension App {
    static func make(touchInterval: ISO8601Duration = .hours(24), installationsPerUser: Int? = nil) -> App {
        var draft = AppPolicy.Draft()
        draft.touchInterval = touchInterval
        draft.installationsPerUser = installationsPerUser
        guard let policy = try? AppPolicy(draft), let id = try? AppID("com.example.mail") else {
            preconditionFailure("a test's policy is valid")
        }
        let topics = TopicCatalogue((1...9).compactMap { try? Topic.make($0) })
        return App(number: AppNumber(1), id: id, policy: policy, topics: topics)
    }
}

extension Registration {
    /// - Parameter token: any text.
    static func make(
        _ installID: String = "phone", token: String? = nil, owner: Owner? = nil, issuedAt: Timestamp? = nil,
        precondition: Precondition? = nil, device: Device? = nil, topics: [TopicChange] = [],
        tokens: [SentTypedToken]? = nil, of app: App = .make(), provider: Provider = .fcm,
        actor: String = "service:test", by authority: RegistrationClaim.Authority = .owner
    ) -> Registration {
        let text = token ?? "token-of-\(installID)"
        let token = valid { () throws(InvalidValue) in
            try Token(
                provider.isApple ? String(hex: text.utf8) + String(repeating: "0", count: 16) : text, of: provider)
        }
        let snapshot = Snapshot(settings: NotificationSettings(), device: device ?? .make(installID))
        return Registration(
            RegistrationRequest(token: token, keys: nil, snapshot: snapshot, topics: topics, tokens: tokens), of: app,
            by: RegistrationClaim(
                of: app, owner: owner, by: authority, credentialIssuedAt: issuedAt, precondition: precondition),
            actor: actor, sha256: toyDigest)
    }
}

extension SentTypedToken {
    /// - Parameter text: any text; different texts are different tokens.
    static func make(
        _ kind: TokenKind, _ text: String, name: String? = nil, until expiresAt: Timestamp? = nil,
        in environment: Provider = .apns
    ) -> SentTypedToken {
        let token = valid { () throws(InvalidValue) in
            try Token(String(hex: text.utf8) + String(repeating: "0", count: 16), of: environment)
        }
        let key = valid { () throws(InvalidValue) in try TypedTokenKey(kind, name: name) }
        return SentTypedToken(key: key, token: token, sha256: toyDigest(Array(token.text.utf8)), expiresAt: expiresAt)
    }
}

/// A simple 32-byte hash: the domain has no hash function.
func toyDigest(_ bytes: [UInt8]) -> [UInt8] {
    (0..<4).flatMap { seed in
        let hash = bytes.reduce(0xcbf2_9ce4_8422_2325 &+ UInt64(seed)) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        return withUnsafeBytes(of: hash) { Array($0) }
    }
}

private func valid<Value>(_ make: () throws(InvalidValue) -> Value) -> Value {
    do throws(InvalidValue) {
        return try make()
    } catch {
        preconditionFailure("a test's value is valid: \(error.detail)")
    }
}
