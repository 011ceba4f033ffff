import EventLoop
import HTTPServer
import Logging
import Migrations
import PostgresClient
import PushRegistry
import RegistryAPI
import RegistryStore
import ServiceLifecycle
import Telemetry

/// What each event loop has of its own: database connections, stores and the API over them. Nothing of a request
/// crosses to another loop.
struct LoopAssembly: Service, CustomStringConvertible {
    /// The service group logs its services whole, and this one holds the admin key's digest.
    var description: String { "LoopAssembly" }

    /// Per loop. One is always left to shared units. The others are for two transactions of registrations, two of
    /// logouts, one of feedback and two that may wait for a lock; those that are not needed are not opened.
    static let connectionsPerLoop = 4
    static let connectionsPerLoopMax = 8

    /// The pool's connections, one that reconnects, epoll and eventfd, and the listeners.
    static let descriptorsPerLoop = connectionsPerLoopMax + 12

    private static var loopLimits: PostgresPoolLimits {
        var limits = PostgresPoolLimits(connectionsMin: connectionsPerLoop, connectionsMax: connectionsPerLoopMax)
        limits.sharedConnectionsMin = 1
        return limits
    }

    private struct LoopParts: Sendable {
        let loop: EventLoop
        let postgres: PostgresClient
        let store: PostgresInstallationStore
        let users: PostgresUserStore
        let feedback: PostgresFeedbackStore
        let directory: PostgresAppDirectory
        /// Audiences have connections of their own: however much they ask, registrations have theirs.
        let audiencePostgres: PostgresClient
        let audiences: PostgresAudienceStore
    }

    private let parts: [LoopParts]
    private let clock: RegistryClock
    private let folding: PostgresClient
    /// Of the session that creates partitions of history.
    private let partitioning: PostgresConfiguration
    private let admin: AdminKey
    private let links: TimeZoneLinks
    private let keySets: ProviderKeySets
    private let limits = CallLimits()
    private let bodyLimits: BodyLimits
    private let departure: Departure
    private let apiDescription = APIDescription(version: PushRegistryCommand.version)
    private let errorPage = ErrorPage()
    private let keyUses = KeyUseLog()
    private let metrics: PrometheusRegistry
    private let makeAccessLog: @Sendable () -> AccessLog
    private let logger: Logger
    /// Whether audiences are read from another database.
    private let readsElsewhere: Bool
    /// Of the newest migration that this binary has.
    private let schemaVersion: Int

    init(
        _ database: Database, _ audiences: AudienceSettings, _ bodyLimits: BodyLimits, loops: [EventLoop],
        admin: AdminKey, keySets: ProviderKeySets, departure: Departure, metrics: PrometheusRegistry, logger: Logger,
        makeAccessLog: @escaping @Sendable () -> AccessLog
    ) throws {
        let configuration = try database.serviceConfiguration
        let audienceConfiguration = try database.audienceConfiguration(audiences)
        let clock = RegistryClock()
        self.clock = clock
        parts = loops.map { loop in
            let postgres = PostgresClient(
                configuration, on: loop, limits: Self.loopLimits,
                name: loop.name, logger: logger)
            let resources = LoopResources(postgres: postgres, clock: clock)
            let audiencePostgres = PostgresClient(
                audienceConfiguration, on: loop, limits: audiences.limits.pool, name: "\(loop.name)-audiences",
                logger: logger)
            return LoopParts(
                loop: loop, postgres: postgres, store: PostgresInstallationStore(resources),
                users: PostgresUserStore(resources),
                feedback: PostgresFeedbackStore(resources), directory: PostgresAppDirectory(postgres: postgres),
                audiencePostgres: audiencePostgres,
                audiences: PostgresAudienceStore(postgres: audiencePostgres, limits: audiences.limits))
        }
        folding = PostgresClient(
            try database.foldingConfiguration, on: loops[0], limits: Self.foldingLimits, name: "folding",
            logger: logger)
        partitioning = try database.configuration
        self.admin = admin
        self.keySets = keySets
        self.bodyLimits = bodyLimits
        self.departure = departure
        self.metrics = metrics
        self.makeAccessLog = makeAccessLog
        links = try TimeZoneLinks()
        self.logger = logger
        readsElsewhere = audiences.readDatabaseURL != nil
        schemaVersion = try migrationFiles.map { try Migration($0).version }.max() ?? 0
    }

    /// A flood is folded for seconds: the statement's own timeout ends it, and not the connection's.
    private static var foldingLimits: PostgresPoolLimits {
        var limits = PostgresPoolLimits(connectionsMin: 0, connectionsMax: 1)
        limits.unitTimeout = Database.foldingTimeout + .seconds(5)
        return limits
    }

    /// The application of one of the loops.
    func application(on loop: EventLoop) -> Application {
        guard let parts = parts.first(where: { $0.loop === loop }) else {
            preconditionFailure("\(loop.name) is none of this server's loops")
        }
        let service = RegistryService(
            store: parts.store, users: parts.users,
            feedback: parts.feedback,
            events: PostgresEventStore(postgres: parts.postgres), audiences: parts.audiences,
            segments: PostgresSegmentStore(postgres: parts.postgres), directory: parts.directory, admin: admin,
            links: links, keySets: keySets, limits: limits, bodyLimits: bodyLimits,
            apiDescription: apiDescription, errorPage: errorPage, keyUses: keyUses,
            readiness: readiness(parts),
            metrics: { [metrics] in metrics.render() }, logger: logger)
        return service.application(
            observer: CombinedObserver([
                makeAccessLog(), RequestMetrics(factory: metrics),
            ]))
    }

    /// The database, its migrations, and where audiences are read: without the last one everything else goes on.
    private func readiness(_ parts: LoopParts) -> ReadinessCheck {
        ReadinessCheck { [departure, readsElsewhere, schemaVersion] in
            guard !departure.isAnnounced else { return .init(obstacles: ["the service is stopping"]) }
            do {
                _ = try await parts.directory.current()
                let schema = try await SchemaVersion.read(parts.postgres)
                guard schema >= schemaVersion else {
                    return .init(obstacles: ["the database lacks migrations: run push-registry migrate"])
                }
            } catch {
                return .init(obstacles: ["the database does not answer"])
            }
            guard readsElsewhere, await !SchemaVersion.isReadable(parts.audiencePostgres) else {
                return .init(obstacles: [])
            }
            return .init(obstacles: [], degraded: ["the read database does not answer: audiences are not available"])
        }
    }

    /// Serves the loops' connections and queues until the group shuts down, which it does after the HTTP server.
    func run() async throws {
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                for parts in parts {
                    group.addTask(executorPreference: parts.loop) { await parts.postgres.run() }
                    group.addTask(executorPreference: parts.loop) { await parts.audiencePostgres.run() }
                    group.addTask(executorPreference: parts.loop) { await parts.store.run() }
                    group.addTask(executorPreference: parts.loop) { await parts.users.run() }
                    group.addTask(executorPreference: parts.loop) { await parts.directory.run() }
                }
                group.addTask { await folding.run() }
                group.addTask { await RollUpFolder(postgres: folding).run() }
                group.addTask { await TableAnalyzer(postgres: folding).run() }
                group.addTask { await clock.run(on: folding) }
                group.addTask { await keyUses.run(on: folding) }
                group.addTask { await keySets.run() }
                group.addTask { await makePartitions() }
            }
        }
    }

    /// A service that does not own the tables leaves this to the night job.
    private func makePartitions() async {
        await HistoryPartitions.run(on: partitioning) { [logger] error in
            logger.warning("no partitions for the months to come", metadata: ["reason": "\(error)"])
        }
    }
}
