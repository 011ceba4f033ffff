import Basics
import PostgresClient
import PushRegistry
import RegistryStore

/// Changes installations in every way there is, at random, few of them and with few traits, so that cells empty and
/// fill.
struct RollUpWriter {
    let stores: TestStores
    let users: PostgresUserStore
    var dice: SeededGenerator

    private init(_ stores: TestStores, _ users: PostgresUserStore, seed: UInt64) {
        self.stores = stores
        self.users = users
        dice = SeededGenerator(seed: seed)
    }

    /// Writes this number of changes, one after the other.
    static func write(_ stores: TestStores, seed: UInt64, steps: Int) async {
        let users = PostgresUserStore(LoopResources(postgres: stores.postgres))
        // Ends with this scope.
        async let _ = users.run()
        var writer = RollUpWriter(stores, users, seed: seed)
        for _ in 0..<steps { await writer.step() }
    }

    /// One change. Refusals, and races that are lost by hand-written SQL, change nothing.
    private mutating func step() async {
        switch dice.below(26) {
        case 0..<9: try? await register()
        case 9: try? await remove()
        case 10, 11: try? await logOut()
        case 12: try? await erase()
        case 13, 14: try? await judge()
        case 15: try? await stores.change("DELETE FROM installation WHERE install_id = \(installID)")
        case 16, 17:
            try? await stores.change(
                """
                UPDATE installation
                SET session_expires_at = clock_timestamp() + \(dice.below(3_000)) * interval '1 ms',
                    revision = revision + 1
                WHERE session_id IS NOT NULL
                """)
        case 18, 19: try? await changeToken()
        case 20: try? await judgeToken()
        case 21: try? await hold()
        case 22: try? await deleteExpired()
        default:
            try? await stores.change(
                """
                UPDATE installation SET state = 'stale', revision = revision + 1, generation = generation + 1
                WHERE install_id = \(installID) AND state = 'active'
                """)
        }
    }

    private var installID: String { mutating get { "i\(dice.below(30) + 10)" } }
    private var userID: UserID { get throws { try UserID("user") } }
    private var locale: String { mutating get { dice.element(of: ["de_DE", "de_AT", "en_US"]) } }

    private mutating func register() async throws {
        var settings = NotificationSettings()
        settings.authorizationStatus = dice.element(of: [.authorized, .denied, .unknown])
        let device = Device(
            installID: try InstallID(installID), deviceModel: "x", systemName: dice.element(of: ["iOS", "Android"]),
            systemVersion: dice.element(of: ["17", "18.1"]), locale: LocaleIdentifier(locale),
            timeZoneID: dice.element(of: ["Europe/Berlin", "Asia/Tokyo", "Mars/Olympus"]),
            timeZoneOffset: Int32(dice.below(2)) * 3600)
        let token = try Token("aaaaaaaaaaaaaaaa\(dice.below(40) + 10)", of: dice.isTrue(0.7) ? .apns : .fcm)
        let tokens = token.provider.isApple ? try typedTokens() : nil
        let snapshot = Snapshot(settings: settings, device: device)
        _ = try await stores.installations.register(
            .make(device.installID.rawValue, token, of: stores.app, as: owner(), tokens: tokens) { $0 = snapshot })
    }

    /// Anonymous, a user, or one in a session that ends soon.
    private mutating func owner() async throws -> Owner? {
        switch dice.below(3) {
        case 0: return nil
        case 1: return Owner(userID: try userID)
        default:
            let now: PostgresTimestamp = try await stores.sql("SELECT clock_timestamp()")[0].decode(0)
            let expiry = now.microsecondsSince1970 + Int64(dice.below(3_000_000))
            return try .ofTest(
                "u\(dice.below(5))", session: "s\(dice.below(1_000_000))", until: Timestamp(microseconds: expiry))
        }
    }

    private mutating func remove() async throws {
        try await stores.installations.delete(
            Deletion(key: stores.key(installID), requester: .service, precondition: nil, actor: "service:test"))
    }

    private mutating func logOut() async throws {
        _ = try await users.logOut(
            Logout(
                key: stores.key(installID), requester: .service, keepsAnonymous: dice.isTrue(0.5), precondition: nil,
                actor: "service:test"))
    }

    private mutating func erase() async throws {
        let user = try UserID("u\(dice.below(5))")
        _ = try await users.erase(Erasure(app: stores.app.number, userID: user, actor: "service:test"))
    }

    private mutating func judge() async throws {
        _ = try await stores.judge(["aaaaaaaaaaaaaaaa\(dice.below(40) + 10)"])
    }
}

// MARK: - Typed tokens

extension RollUpWriter {
    /// Half of the registrations leave the set alone. Few texts, so that tokens move.
    private mutating func typedTokens() throws -> [SentTypedToken]? {
        guard dice.isTrue(0.5) else { return nil }
        let count = dice.below(3)
        var tokens: [TypedTokenKey: SentTypedToken] = [:]
        for _ in 0..<count {
            let token = try typedToken()
            tokens[token.key] = token
        }
        return Array(tokens.values)
    }

    /// Some expire soon, and some are past already.
    private mutating func typedToken() throws -> SentTypedToken {
        let kind = dice.element(of: [TokenKind.voip, .widget, .liveActivity])
        let token = try Token("bbbbbbbbbbbbbbbb\(dice.below(6) + 10)", of: dice.isTrue(0.7) ? .apns : .apnsSandbox)
        let expiry = dice.isTrue(0.5) ? Timestamp.now().microseconds + Int64(dice.below(3_000_000)) : nil
        return SentTypedToken(
            key: try TypedTokenKey(kind, name: dice.element(of: ["a", "b"])), token: token,
            sha256: TestStores.sha256(Array(token.text.utf8)), expiresAt: expiry.map(Timestamp.init(microseconds:)))
    }

    private mutating func changeToken() async throws {
        let token = try typedToken()
        _ = try await stores.installations.change(
            TypedTokenChange(
                dice.isTrue(0.7) ? .put(token, environment: nil) : .remove(token.key), on: stores.key(installID),
                of: stores.app, for: .service, by: .owner, credential: nil, precondition: nil, actor: "service:test"))
    }

    private mutating func judgeToken() async throws {
        let text = "bbbbbbbbbbbbbbbb\(dice.below(6) + 10)"
        _ = try await stores.judge([stores.item(text)])
    }

    private mutating func hold() async throws {
        try await stores.change(
            """
            WITH changed AS (
                UPDATE typed_token SET held = NOT held WHERE install_id = \(installID) RETURNING install_id)
            UPDATE installation SET revision = revision + 1 WHERE install_id IN (SELECT install_id FROM changed)
            """)
    }

    /// As the night job does, without a delta. A reader whose time is earlier counts none of them.
    private func deleteExpired() async throws {
        _ = try await stores.sql(
            "DELETE FROM typed_token WHERE expires_at < clock_timestamp() - interval '2 seconds'")
    }
}
