import EmbeddedPostgres
import EventLoop
import Logging
import PostgresClient
import PushRegistry
import RegistryTestSupport
import Testing

@testable import RegistryJobs
@testable import RegistryStore

/// A registry on a server whose clock the test sets, and the services that come and go on it.
struct SimulatedRegistry: Sendable {
    let clock: MovableClock
    let configuration: PostgresConfiguration
    let superuser: PostgresConfiguration
    private let serviceConfiguration: PostgresConfiguration
    let app: App

    /// The checkpointer and autovacuum would start with each move of the clock.
    private static let settings = ["checkpoint_timeout": "86400s", "autovacuum": "off"]

    /// Lends a registry with one app, whose time begins at `start`.
    static func with(
        from start: Timestamp, policy: AppPolicy = .standard,
        _ body: (SimulatedRegistry) async throws -> Void
    ) async throws {
        try await ThrowawayCluster.with(
            settings: settings, environment: MovableClock.environment, logger: TestStores.quiet
        ) { server in
            let clock = MovableClock(in: server.directory)
            let configuration = try PostgresConfiguration(server.connectionString)
            clock.calibrate(microseconds: try await Self.time(of: configuration).microseconds)
            try clock.set(to: start)
            try await migrateDatabase(server.connectionString)
            let service = try PostgresConfiguration(server.connectionString, settings: serviceSettings)
            let empty = SimulatedRegistry(
                clock: clock, configuration: configuration,
                superuser: try PostgresConfiguration(server.superuserConnectionString),
                serviceConfiguration: service, app: App(number: AppNumber(1), id: try AppID("none"), policy: policy))
            let app = try await empty.withService { service in
                let app = try await PostgresAppDirectory(postgres: service.stores.postgres)
                    .put(AppID("com.example.mail"), policy: policy)
                let topics = try await service.stores.makeTopics(4)
                return App(number: app.number, id: app.id, policy: policy, topics: topics)
            }
            try await body(
                SimulatedRegistry(
                    clock: clock, configuration: configuration, superuser: empty.superuser,
                    serviceConfiguration: service, app: app))
        }
    }

    private static func time(of configuration: PostgresConfiguration) async throws -> Timestamp {
        try await PostgresSession.withSession(configuration) { session in
            Timestamp(try session.execute("SELECT clock_timestamp()")[0].decode(0, as: PostgresTimestamp.self))
        }
    }

    /// Lends a service that has just started: it knows no time but the one that it reads from the database.
    func withService<Value>(_ body: (SimulatedService) async throws -> Value) async throws -> Value {
        let loop = EventLoop(name: "service")
        defer { loop.stop() }
        let postgres = PostgresClient(
            serviceConfiguration, on: loop, limits: .init(connectionsMin: 1, connectionsMax: 8),
            logger: TestStores.quiet)
        let service = SimulatedService(postgres: postgres, configuration, serviceConfiguration, app)
        // They end with this scope.
        async let _ = postgres.run()
        async let _ = service.run()
        return try await body(service)
    }

    /// What the job does at night.
    func cleanUp(
        _ options: CleanUp.Options = CleanUp.Options(),
        progress: @escaping @Sendable (CleanUp.Progress) -> Void = { _ in }
    ) async throws -> CleanUpReport {
        try await CleanUp(configuration).run(options, progress: progress)
    }

    /// Of all sessions, also of those that are open.
    func setTimeZone(_ zone: String) async throws {
        try await PostgresSession.withSession(superuser) { session in
            _ = try session.execute(PostgresStatement("ALTER SYSTEM SET timezone = \(literal: zone)").unprepared())
            _ = try session.execute("SELECT pg_reload_conf()")
        }
    }
}

/// The stores of one process.
struct SimulatedService: Sendable {
    let stores: TestStores
    let users: PostgresUserStore
    let topics: PostgresTopicStore
    let audiences: PostgresAudienceStore

    fileprivate init(
        postgres: PostgresClient, _ configuration: PostgresConfiguration,
        _ serviceConfiguration: PostgresConfiguration, _ app: App
    ) {
        let resources = LoopResources(postgres: postgres)
        stores = TestStores(
            configuration: configuration, serviceConfiguration: serviceConfiguration, postgres: postgres,
            installations: PostgresInstallationStore(resources), feedback: PostgresFeedbackStore(resources),
            events: PostgresEventStore(resources), app: app)
        users = PostgresUserStore(resources)
        topics = PostgresTopicStore(resources)
        audiences = PostgresAudienceStore(postgres: postgres, limits: AudienceStoreLimits())
    }

    fileprivate func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await stores.installations.run() }
            group.addTask { await users.run() }
            group.addTask { await topics.run() }
        }
    }
}

extension MovableClock {
    var now: Timestamp { Timestamp(microseconds: microseconds) }

    /// Afterwards, it shows `time`, or less than a second more.
    func set(to time: Timestamp) throws { try set(toMicroseconds: time.microseconds) }
}
