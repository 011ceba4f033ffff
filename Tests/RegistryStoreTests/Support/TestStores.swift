import Basics
import Crypto
import Dispatch
import EmbeddedPostgres
import EventLoop
import Logging
import PostgresClient
import PushRegistry
import RegistryTestSupport
import Testing

@testable import RegistryStore

/// The stores over a database of their own, with one app.
struct TestStores: Sendable {
    let configuration: PostgresConfiguration
    /// Sessions with the settings of a service.
    let serviceConfiguration: PostgresConfiguration
    let postgres: PostgresClient
    let installations: PostgresInstallationStore
    let feedback: PostgresFeedbackStore
    let events: PostgresEventStore
    let app: App
    /// Those of a process.
    let cubes = CubeCache()

    var audiences: PostgresAudienceStore { PostgresAudienceStore(postgres: postgres, limits: AudienceStoreLimits()) }

    /// Those of the test that runs.
    @TaskLocal static var lent: TestStores?

    /// Lends stores on a throw-away cluster, on a loop of their own.
    static func with<Value: Sendable>(_ body: (TestStores) async throws -> Value) async throws -> Value {
        try await ThrowawayCluster.withDatabase(from: .migrated, logger: quiet) { server in
            let configuration = try PostgresConfiguration(server.connectionString)
            let loop = EventLoop(name: "stores")
            defer { loop.stop() }
            let service = try PostgresConfiguration(server.connectionString, settings: serviceSettings)
            let postgres = PostgresClient(
                service, on: loop,
                limits: .init(connectionsMin: 2, connectionsMax: 20), logger: quiet)
            let resources = LoopResources(postgres: postgres)
            let installations = PostgresInstallationStore(resources)
            // Both end with this scope.
            async let _ = postgres.run()
            async let _ = installations.run()
            let app = try await PostgresAppDirectory(postgres: postgres)
                .put(AppID("com.example.mail"), policy: .standard)
            return try await body(
                TestStores(
                    configuration: configuration, serviceConfiguration: service, postgres: postgres,
                    installations: installations,
                    feedback: PostgresFeedbackStore(resources),
                    events: PostgresEventStore(resources), app: app))
        }
    }

    static var quiet: Logger {
        var logger = Logger(label: "stores")
        logger.logLevel = .critical
        return logger
    }

    func sql(_ statement: PostgresStatement) async throws -> PostgresResult {
        try await postgres.execute(statement.unprepared())
    }

    /// Lets each change of a row fail that meets a condition.
    func fail(changesOf table: PostgresSQL, when condition: PostgresSQL) async throws {
        _ = try await sql(
            """
            CREATE OR REPLACE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN RAISE EXCEPTION 'a damaged index' USING ERRCODE = 'XX002'; END $$
            """)
        _ = try await sql(
            PostgresStatement(
                """
                CREATE TRIGGER fail BEFORE INSERT OR UPDATE ON \(sql: table) FOR EACH ROW WHEN (\(sql: condition))
                EXECUTE FUNCTION fail()
                """))
    }

    /// - Returns: the number of another app, which background work reaches after the first one.
    func appBehind() async throws -> Int32 {
        try await PostgresAppDirectory(postgres: postgres).put(AppID("com.example.news"), policy: .standard)
            .number.rawValue
    }

    func key(_ installID: String) throws -> InstallationKey {
        InstallationKey(app: app.number, installID: try InstallID(installID))
    }

    func installation(_ installID: String) async throws -> Installation? {
        try await installations.installation(key(installID))?.installation
    }
}

// MARK: - Registering and judging

extension TestStores {
    @discardableResult
    func register(
        _ installID: String, token: String, of provider: Provider = .apns, as user: String? = nil,
        session: String? = nil, keychain: String? = nil, systemVersion: String = "26.5",
        tokens: [SentTypedToken]? = nil
    ) async throws -> RegistrationOutcome {
        try await installations.register(
            .make(
                installID, Token(token, of: provider), of: app, as: user.map { try Owner.ofTest($0, session: session) },
                tokens: tokens
            ) { ($0.device.keychainID, $0.device.systemVersion) = (keychain, systemVersion) })
    }

    /// As the app's back end.
    func logOut(_ installID: String, keepsAnonymous: Bool = false) async throws {
        let logout = Logout(
            key: try key(installID), requester: .service, keepsAnonymous: keepsAnonymous, precondition: nil,
            actor: "service:test")
        _ = try await postgres.withTransaction { try await Logout.write([logout], .alone, $0) }
    }

    /// Lets two days go by since the installations were seen last.
    func waitTwoDays() async throws {
        _ = try await sql(
            """
            UPDATE installation SET created_at = created_at - interval '2 days',
                registered_at = registered_at - interval '2 days', last_seen_at = last_seen_at - interval '2 days'
            """)
    }

    /// What feedback about the tokens comes to.
    func judge(
        _ tokens: [String], _ reason: String = "Unregistered", at: Timestamp? = nil
    ) async throws -> FeedbackCounts {
        try await judge(tokens.map { try item($0, reason, at: at) })
    }

    func judge(_ items: [FeedbackItem]) async throws -> FeedbackCounts {
        try await feedback.apply(Feedback(of: app, items: items, actor: "sender:test"))
    }

    func item(
        _ text: String, of provider: Provider = .apns, _ reason: String = "Unregistered", at: Timestamp? = nil
    ) throws -> FeedbackItem {
        let token = try Token(text, of: provider)
        let address = TokenAddress(
            app: app.number, provider: provider, sha256: token.addressSHA256(by: Self.sha256))
        return FeedbackItem(
            installID: nil, provider: provider, addresses: [address], spelling: token.spelling, reason: reason, at: at)
    }

    func address(_ token: String) -> TokenAddress {
        TokenAddress(app: app.number, provider: .apns, sha256: Self.sha256(Array(token.utf8)))
    }

    static func sha256(_ bytes: [UInt8]) -> [UInt8] { Array(SHA256.hash(data: bytes)) }
}

extension MessageFolder {
    func fold() async throws {
        var batches: [AppNumber: FoldBatch] = [:]
        try await fold(&batches)
    }
}

/// Does something in another session while the job, on whose thread this is called, waits.
func aside<Value: Sendable>(
    _ configuration: PostgresConfiguration, _ body: @escaping @Sendable (PostgresSession) throws -> Value
) throws -> Value {
    let done = DispatchSemaphore(value: 0)
    let outcome = Locked<Result<Value, any Error>?>(nil)
    Task {
        do {
            let value = try await PostgresSession.withSession(configuration, body)
            outcome.withLock { $0 = .success(value) }
        } catch {
            outcome.withLock { $0 = .failure(error) }
        }
        done.signal()
    }
    done.wait()
    return try outcome.withLock { $0 }!.get()
}

/// Lends something to each test of a suite, on a database of its own.
struct Lending: SuiteTrait, TestTrait, TestScoping {
    let isRecursive = true
    let lend: @Sendable (_ test: @Sendable () async throws -> Void) async throws -> Void

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable @concurrent () async throws -> Void
    ) async throws {
        try await lend(function)
    }
}

extension Trait where Self == Lending {
    /// `TestStores.lent` is set.
    static var stores: Lending {
        Lending { test in
            try await TestStores.with { stores in try await TestStores.$lent.withValue(stores) { try await test() } }
        }
    }

    /// `StoreUnderTest.lent` is set.
    static var store: Lending {
        Lending { test in
            try await withStore { store in try await StoreUnderTest.$lent.withValue(store) { try await test() } }
        }
    }
}
