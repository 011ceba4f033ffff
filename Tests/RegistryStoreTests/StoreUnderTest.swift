import Basics
import Crypto
import EmbeddedPostgres
import EventLoop
import Logging
import PostgresClient
import PushRegistry
import RegistryTestSupport
import Testing

@testable import RegistryJobs
@testable import RegistryStore

/// The store on an event loop of its own, and SQL beside it.
struct StoreUnderTest: Sendable {
    /// The store's sessions, with what the stores of a loop share.
    let resources: LoopResources
    let coalescer: RegistrationCoalescer
    let loop: EventLoop
    /// Sessions that the store does not use.
    let database: PostgresClient
    /// Of the store's sessions.
    let configuration: PostgresConfiguration

    /// That of the test that runs.
    @TaskLocal static var lent: StoreUnderTest?

    func register(_ registration: Registration) async throws -> RegistrationOutcome {
        try await coalescer.register(registration)
    }

    var pool: PostgresClient { resources.postgres }

    /// The installations that hold a token, `installId token`, in order.
    func holders() async throws -> [String] {
        try await database.execute(
            "SELECT install_id || ' ' || token FROM installation WHERE token IS NOT NULL ORDER BY install_id"
        ).map { try $0.decode(0) }
    }

    func strings(_ statement: PostgresStatement) async throws -> [String] {
        try await database.execute(statement).map { try $0.decode(0) }
    }

    func count(_ statement: PostgresStatement) async throws -> Int64 {
        try await database.execute(statement)[0].decode(0)
    }

    /// - Parameter names: what the names of the invariants begin with.
    func expectIntact(
        _ names: [String] = ["token-holder", "owner", "event-"], sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        for invariant in Invariant.all where names.contains(where: invariant.name.hasPrefix) {
            #expect(try await count(invariant.count) == 0, "\(invariant.name)", sourceLocation: sourceLocation)
        }
    }
}

extension PostgresClient {
    /// Lets a change wait for the rows that a statement locks, for much longer than a batch may, and runs another one
    /// meanwhile.
    nonisolated func holding(
        _ lock: PostgresStatement, _ change: @escaping @Sendable () async throws -> Void,
        meanwhile: (_ holder: PostgresTransaction) async throws -> Void = { _ in }
    ) async throws {
        try await withTransaction { holder in
            _ = try await holder.execute(lock)
            async let waiting: Void = change()
            try await eventually {
                try await execute(
                    """
                    SELECT FROM pg_stat_activity
                    WHERE wait_event_type = 'Lock' AND clock_timestamp() - query_start > interval '200 ms'
                    """
                ).count > 0
            }
            try await meanwhile(holder)
            try await holder.commit()
            try await waiting
        }
    }
}

/// As the service's own sessions begin.
let serviceSettings = [
    "enable_seqscan": "off", "enable_hashjoin": "off", "enable_mergejoin": "off", "jit": "off",
    "plan_cache_mode": "force_generic_plan", "statement_timeout": "10s", "lock_timeout": "25ms",
]

/// Lends a store over a database of its own.
func withStore(_ body: (StoreUnderTest) async throws -> Void) async throws {
    try await ThrowawayCluster.withDatabase(from: .migrated, logger: TestStores.quiet) { server in
        let configuration = try PostgresConfiguration(server.connectionString, settings: serviceSettings)
        let loop = EventLoop(name: "store")
        defer { loop.stop() }
        let pools = [
            configuration, try PostgresConfiguration(server.superuserConnectionString),
        ].map {
            PostgresClient($0, on: loop, limits: .init(connectionsMin: 0, connectionsMax: 4), logger: TestStores.quiet)
        }
        let resources = LoopResources(postgres: pools[0])
        let store = StoreUnderTest(
            resources: resources, coalescer: RegistrationCoalescer(resources), loop: loop, database: pools[1],
            configuration: configuration)
        // All end with this scope.
        async let _ = pools[0].run()
        async let _ = pools[1].run()
        async let _ = store.coalescer.run()
        for app: Int32 in [1, 2, 3, 99] {
            _ = try await store.database.execute(RollUpStatements.addState(AppNumber(app)))
        }
        try await body(store)
    }
}

/// Lends several services on one database, each with its loop, pool and stores.
func withStores(
    _ count: Int, _ body: @escaping @Sendable ([StoreUnderTest]) async throws -> Void
) async throws {
    try await withStore { first in
        let others = try (1..<count).map { try first.another(named: "service-\($0)") }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for other in others {
                group.addTask { await other.pool.run() }
                group.addTask { await other.coalescer.run() }
            }
            try await body([first] + others)
            group.cancelAll()
            try await group.waitForAll()
        }
        for other in others { other.loop.stop() }
    }
}

extension Owner {
    static func ofTest(_ user: String, session: String? = nil, until expiry: Timestamp? = nil) throws -> Owner {
        Owner(userID: try UserID(user), session: try session.map { Session(id: try SessionID($0), expiresAt: expiry) })
    }
}

extension Registration {
    /// - Parameter change: what is unlike a phone in Berlin whose settings are unknown.
    static func make(
        _ installID: String, _ token: Token, of app: App, as owner: Owner? = nil, tokens: [SentTypedToken]? = nil,
        precondition: Precondition? = nil, _ change: (inout Snapshot) -> Void = { _ in }
    ) throws -> Registration {
        let device = Device(
            installID: try InstallID(installID), deviceModel: "iPhone17,3", systemName: "iOS", systemVersion: "26.5",
            locale: LocaleIdentifier("de_DE"), timeZoneID: "Europe/Berlin", timeZoneOffset: 3600)
        var snapshot = Snapshot(settings: NotificationSettings(), device: device)
        change(&snapshot)
        return Registration(
            RegistrationRequest(token: token, keys: nil, snapshot: snapshot, tokens: tokens), of: app,
            by: RegistrationClaim(of: app, owner: owner, precondition: precondition), actor: "service:test",
            sha256: TestStores.sha256)
    }

    /// - Parameter token: any text; each one is another token. For APNs it has at least eight letters.
    static func make(
        _ installID: String, token: String? = nil, user: String? = nil, carrier: String? = nil,
        locale: String = "de_DE", session: String? = nil, expiresAt: Timestamp? = nil, keychain: String? = nil,
        precondition: Precondition? = nil, provider: Provider = .fcm, tokens: [SentTypedToken]? = nil,
        installationsMax: Int? = nil
    ) throws -> Registration {
        let text = token ?? "token-of-\(installID)"
        var draft = AppPolicy.Draft()
        draft.installationsPerUser = installationsMax
        return try make(
            installID, Token(provider.isApple ? String(hex: text.utf8) : text, of: provider),
            of: App(number: AppNumber(1), id: AppID("com.example.mail"), policy: AppPolicy(draft)),
            as: user.map { try Owner.ofTest($0, session: session, until: expiresAt) }, tokens: tokens,
            precondition: precondition
        ) {
            $0.device.locale = LocaleIdentifier(locale)
            ($0.device.carrier, $0.device.keychainID) = (carrier, keychain)
        }
    }
}

extension SentTypedToken {
    /// - Parameter text: any text; each one is another token.
    static func make(_ kind: TokenKind, _ text: String, name: String? = nil) throws -> SentTypedToken {
        let token = try Token(String(hex: text.utf8) + String(repeating: "0", count: 16), of: .apns)
        return SentTypedToken(
            key: try TypedTokenKey(kind, name: name), token: token, sha256: TestStores.sha256(Array(token.text.utf8)),
            expiresAt: nil)
    }
}
