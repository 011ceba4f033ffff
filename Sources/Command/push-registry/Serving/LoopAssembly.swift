import EventLoop
import HTTPApplication
import Logging
import Migrations
import PostgresClient
import PushRegistry
import Receipts
import RegistryAPI
import RegistryJobs
import RegistryStore
import ServiceLifecycle
import Telemetry

/// Creates the parts of each event loop: database connections, stores and the API. A request never leaves its loop.
struct LoopAssembly: Service, CustomStringConvertible {
    /// The service group logs its services, and this one contains the digest of the admin key.
    var description: String { "LoopAssembly" }

    /// Connections of each loop. One is reserved for shared units. The others are for two transactions of
    /// registrations, two of logouts, one of feedback, one of contended writes and two that may wait for a lock. Unused
    /// ones are not opened.
    static let connectionsPerLoop = 4
    static let connectionsPerLoopMax = 9
    /// On Citus, the node of some apps may hang. Statements about them have their connections until their deadlines,
    /// and others must not wait behind them.
    static let connectionsPerLoopOnCitusMax = 16
    private static let sharedConnectionsOnCitusMin = 4
    private static let unitTimeoutOnCitus = Duration.seconds(5)

    /// The connections of the pool, one that reconnects, epoll, eventfd and the listeners.
    static let descriptorsPerLoop = connectionsPerLoopOnCitusMax + 12

    private static func loopLimits(isDistributed: Bool) -> PostgresPoolLimits {
        var limits = PostgresPoolLimits(
            connectionsMin: connectionsPerLoop,
            connectionsMax: isDistributed ? connectionsPerLoopOnCitusMax : connectionsPerLoopMax)
        limits.sharedConnectionsMin = 1
        if isDistributed {
            limits.sharedConnectionsMin = sharedConnectionsOnCitusMin
            limits.unitsPerConnection = 1
            limits.unitTimeout = unitTimeoutOnCitus
        }
        return limits
    }

    /// How many connections to PostgreSQL a service needs: those that are always open, and the most that it may open.
    static func connections(_ settings: Settings, isDistributed: Bool) -> ClosedRange<Int> {
        let limits = loopLimits(isDistributed: isDistributed)
        let perLoopMax = limits.connectionsMax + settings.audiences.limits.pool.connectionsMax
        // One to fold counts, one for the gauges, and for a while those that delete apps or create partitions.
        let others = 2 + AppRemoval.appsMax
        return settings.eventLoops * limits.connectionsMin...settings.eventLoops * perLoopMax + others
    }

    private struct LoopParts: Sendable {
        let loop: EventLoop
        let postgres: PostgresClient
        let writes: RefusedWrites
        let installations: PostgresInstallationStore
        let users: PostgresUserStore
        let notifications: PostgresNotificationStore
        let topics: PostgresTopicStore
        let feedback: PostgresFeedbackStore
        let events: PostgresEventStore
        let messages: PostgresMessageStore
        let directory: PostgresAppDirectory
        /// Audience queries have their own connections, so that they never block registrations.
        let audiencePostgres: PostgresClient
        let audiences: PostgresAudienceStore
    }

    private let parts: [LoopParts]
    private let foldingResources: LoopResources
    /// The sessions that create partitions of history, and delete apps.
    private let partitioning: PostgresConfiguration
    private let admin: AdminKey
    private let links: TimeZoneLinks
    private let keySets: ProviderKeySets
    private let settings: Settings
    /// All loops count together.
    private let limits: CallLimits
    private let receiptKeys = ReceiptKeys()
    private let shutdown: ShutdownFlag
    private let apiDescription = APIDescription(version: PushRegistryCommand.version)
    private let errorPage = ErrorPage()
    private let consolePage = ConsolePage()
    private let codes: OneTimeCodes
    private let provider: IdentityProvider?
    private let process = ServingProcess()
    private let keyUses = KeyUseLog()
    let breakers = OpenBreakers()
    private let isDistributed: Bool
    private let metrics: PrometheusRegistry
    private let logger: Logger
    /// The version of the newest migration of this binary.
    private let schemaVersion: Int

    init(
        _ database: Database, _ sessions: ServiceSessions, _ settings: Settings, loops: [EventLoop], admin: AdminKey,
        codes: OneTimeCodes, provider: IdentityProviderSettings?, shutdown: ShutdownFlag, metrics: PrometheusRegistry,
        logger: Logger
    ) throws {
        let audiences = settings.audiences
        let audienceConfiguration = try database.audienceConfiguration(audiences)
        let pools = loops.map { loop in
            PostgresClient(
                sessions.registrations, on: loop, limits: Self.loopLimits(isDistributed: sessions.isDistributed),
                name: loop.name, logger: logger)
        }
        let resources = LoopResources.sharing(pools, isDistributed: sessions.isDistributed)
        let installations = PostgresInstallationStore.stores(on: resources)
        let (cubes, pastCubes) = (CubeCache(), CubeCache(bytesMax: CubeCache.bytesMax / 2))
        let unusablePolicies = UnusablePolicies { app in
            logger.error(
                "the stored policy of an app cannot be used: its calls get 503",
                metadata: ["app": "\(app.id)", "reason": "\(app.reason)"])
        }
        parts = zip(resources, installations).map { resources, installations in
            let (loop, postgres) = (resources.loop, resources.postgres)
            let audiencePostgres = PostgresClient(
                audienceConfiguration, on: loop, limits: audiences.limits.pool, name: "\(loop.name)-audiences",
                logger: logger)
            return LoopParts(
                loop: loop, postgres: postgres, writes: resources.writes, installations: installations,
                users: PostgresUserStore(resources), notifications: PostgresNotificationStore(resources),
                topics: PostgresTopicStore(resources), feedback: PostgresFeedbackStore(resources),
                events: PostgresEventStore(resources), messages: PostgresMessageStore(resources),
                directory: PostgresAppDirectory(postgres: postgres, unusablePolicies: unusablePolicies),
                audiencePostgres: audiencePostgres,
                audiences: PostgresAudienceStore(
                    postgres: audiencePostgres, limits: audiences.limits, cubes: cubes, pastCubes: pastCubes))
        }
        let folding = PostgresClient(
            sessions.folding, on: loops[0], limits: Self.foldingLimits, name: "folding", logger: logger)
        foldingResources = LoopResources(postgres: folding, isDistributed: sessions.isDistributed)
        isDistributed = sessions.isDistributed
        partitioning = try database.configuration
        self.admin = admin
        self.settings = settings
        limits = settings.makeCallLimits()
        keySets = ProviderKeySets(
            CurlKeySetFetcher(allowsPrivateAddresses: settings.allowsPrivateAddresses), logger: logger)
        self.shutdown = shutdown
        self.metrics = metrics
        links = try TimeZoneLinks()
        self.codes = codes
        // The operator names the provider, so it may have a private address.
        self.provider = provider.map {
            IdentityProvider($0, CurlKeySetFetcher(allowsPrivateAddresses: true), logger: logger)
        }
        self.logger = logger
        schemaVersion = try migrationFiles.map { try Migration($0).version }.max() ?? 0
    }

    /// Folding many deltas takes seconds: the statement's timeout must end it before the connection's does.
    private static var foldingLimits: PostgresPoolLimits {
        var limits = PostgresPoolLimits(connectionsMin: 0, connectionsMax: 1)
        limits.unitTimeout = Database.foldingTimeout + .seconds(5)
        return limits
    }

    /// The application of a loop.
    func application(on loop: EventLoop) -> Application {
        guard let parts = parts.first(where: { $0.loop === loop }) else {
            preconditionFailure("\(loop.name) is not a loop of this server")
        }
        let service = RegistryService(
            installations: parts.installations, users: parts.users, notifications: parts.notifications,
            feedback: parts.feedback, events: parts.events, messages: parts.messages, audiences: parts.audiences,
            segments: PostgresSegmentStore(postgres: parts.postgres), topics: parts.topics,
            directory: parts.directory, admin: admin, links: links, keySets: keySets, limits: limits,
            receiptKeys: receiptKeys, bodyLimits: settings.bodies, apiDescription: apiDescription, errorPage: errorPage,
            keyUses: keyUses, cleanUpRuns: PostgresCleanUpRunStore(postgres: parts.postgres),
            auditEntries: PostgresAuditStore(postgres: parts.postgres), readiness: readiness(parts),
            metrics: { [metrics] in metrics.render() },
            console: Console(
                page: consolePage, sessions: PostgresConsoleSessionStore(postgres: parts.postgres),
                origin: ConsoleOrigin(configured: settings.consoleOrigin, usesTLS: settings.tlsCertificate != nil),
                codes: codes, provider: provider,
                rates: { [metrics, process] in process.rates(metrics) }),
            logger: logger)
        let accessLog = ProcessLogging.makeAccessLog(settings, label: logger.label)
        return service.application(observers: [accessLog, RequestMetrics(metrics)])
    }

    /// Checks the database, its migrations, the apps' policies, writes, and the database of audience queries. Without
    /// one of the last three, the service is ready but degraded.
    private func readiness(_ parts: LoopParts) -> ReadinessCheck {
        let hasReadDatabase = settings.audiences.readDatabaseURL != nil
        return ReadinessCheck { [shutdown, breakers, isDistributed, schemaVersion] in
            guard !shutdown.isAnnounced else { return .init(obstacles: ["the service is stopping"]) }
            var degraded: [String] = []
            do {
                let apps = try await parts.directory.current()
                let unusable = apps.unusable
                // Without the names: strangers may read this.
                if !unusable.isEmpty {
                    degraded.append(
                        "apps whose stored policy cannot be used: \(unusable.count), see push-registry apps list")
                }
                let schema = try await SchemaVersion.read(parts.postgres)
                guard schema >= schemaVersion else {
                    return .init(obstacles: ["the database lacks migrations: run push-registry migrate"])
                }
                // On Citus a node that hangs would keep every call waiting, so `RegistryGauges` reads them.
                if !isDistributed { try? await breakers.refresh(parts.postgres) }
                degraded += breakers.names(of: apps)
            } catch StoreError.failed(let reason) {
                return .init(obstacles: ["the database cannot be used: \(reason)"])
            } catch {
                return .init(obstacles: ["the database does not respond"])
            }
            if let reason = parts.writes.reason {
                degraded.append("the database refuses writes: \(reason.label)")
            }
            // A pool that merely is busy is not asked: exports may hold all its connections for minutes.
            if hasReadDatabase || parts.audiencePostgres.isFailing,
                await !SchemaVersion.isReadable(parts.audiencePostgres)
            {
                let database = hasReadDatabase ? "read database" : "database"
                degraded.append("the \(database) gives audiences no connection: they are not available")
            }
            return .init(obstacles: [], degraded: degraded)
        }
    }

    /// Runs the connections and queues of the loops until the service group shuts down. The HTTP server stops first.
    func run() async throws {
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                for parts in parts {
                    group.addTask(executorPreference: parts.loop) { await parts.postgres.run() }
                    group.addTask(executorPreference: parts.loop) { await parts.audiencePostgres.run() }
                    group.addTask(executorPreference: parts.loop) { await parts.installations.run() }
                    group.addTask(executorPreference: parts.loop) { await parts.users.run() }
                    group.addTask(executorPreference: parts.loop) { await parts.notifications.run() }
                    group.addTask(executorPreference: parts.loop) { await parts.topics.run() }
                    group.addTask(executorPreference: parts.loop) { await parts.directory.run() }
                    group.addTask(executorPreference: parts.loop) { await parts.messages.run() }
                }
                let folding = foldingResources.postgres
                group.addTask { await folding.run() }
                group.addTask { await RollUpFolder(foldingResources).run() }
                group.addTask { await MessageFolder(postgres: folding).run() }
                group.addTask { await TableAnalyzer(postgres: folding).run() }
                group.addTask { await keyUses.run(on: folding) }
                group.addTask { await SigningKeyRotation(postgres: folding).run() }
                group.addTask { await ConsoleSessionSweep(postgres: folding).run() }
                group.addTask { await keySets.run() }
                if let provider { group.addTask { await provider.run() } }
                group.addTask { await makePartitions() }
                group.addTask { await removeApps() }
            }
        }
    }

    private func removeApps() async {
        await AppRemoval(partitioning).run(noticing: foldingResources.postgres) { [logger] error in
            logger.warning("the deletion of an app failed and is tried again", metadata: ["reason": "\(error)"])
        }
    }

    /// Without the ownership of the tables, the service cannot create partitions: the night job does.
    private func makePartitions() async {
        await Partitions.run(on: partitioning) { [logger] error in
            logger.warning("no partitions for the coming months", metadata: ["reason": "\(error)"])
        }
    }
}
