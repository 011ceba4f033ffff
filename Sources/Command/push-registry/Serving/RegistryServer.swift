import ArgumentParser
import CoreMetrics
import EmbeddedPostgres
import EventLoop
import Foundation
import HTTPServer
import Logging
import PostgresClient
import PushRegistry
import RegistryAPI
import RegistryStore
import ServiceLifecycle
import Telemetry
import UnixSignals

/// The service: starts the database, the event loops and the HTTP server, and stops them in reverse order.
struct RegistryServer {
    private let settings: Settings
    private let inheritedSockets: [InheritedSocket]
    private let logger: Logger

    /// - Parameter inheritedSockets: replace the addresses in the settings.
    init(_ settings: Settings, inheritedSockets: [InheritedSocket] = [], logger: Logger) {
        self.settings = settings
        self.inheritedSockets = inheritedSockets
        self.logger = logger
    }

    /// Serves until SIGTERM or SIGINT.
    func run(demo: Bool) async throws {
        // Invalid settings end the start before a database is created.
        let configuration = try httpConfiguration()
        let provider = try settings.signIn.provider()
        guard !demo || settings.databaseURL == nil else {
            throw ValidationError(
                "--demo creates a key that reads tokens, so it works only with the embedded PostgreSQL. Remove --demo "
                    + "or PUSH_REGISTRY_DATABASE_URL.")
        }
        let database = try await Database.start(settings, logger: logger)
        do {
            try await serve(database, configuration, provider, demo: demo)
            try await database.stop()
        } catch {
            try await database.stop()
            throw error
        }
    }

    private func serve(
        _ database: Database, _ configuration: HTTPServerConfiguration, _ provider: IdentityProviderSettings?,
        demo: Bool
    ) async throws {
        let admin = try AdminKeyStore(settings, isEmbedded: database.embedded != nil).key()
        let applied = try await database.migrate()
        if !applied.isEmpty { logger.notice("migrated", metadata: ["applied": "\(applied.count)"]) }
        if try await RestoredEvents.adopt(database.configuration) {
            logger.notice("\(RestoredEvents.notice)")
        }
        let sessions = try await database.serviceSessions()
        if !sessions.missingTables.isEmpty {
            logger.error(
                "tables are not distributed: stop all services and run push-registry distribute",
                metadata: ["tables": "\(sessions.missingTables.joined(separator: ", "))"])
        }
        let need = LoopAssembly.connections(settings, isDistributed: sessions.isDistributed)
        logger.notice(
            "connections to PostgreSQL",
            metadata: [
                "atLeast": "\(need.lowerBound)", "atMost": "\(need.upperBound)", "eventLoops": "\(settings.eventLoops)",
            ])
        // Their defaults would end the process without a drain.
        for number in [SIGUSR1, SIGUSR2, SIGALRM, SIGPIPE] { signal(number, SIG_IGN) }
        let loops = (0..<settings.eventLoops).map { EventLoop(name: "loop-\($0)") }
        let metrics = PrometheusRegistry(MetricDescriptions.configuration)
        MetricsSystem.bootstrap(metrics)
        let shutdown = ShutdownFlag()
        let codes = OneTimeCodes()
        let assembly = try LoopAssembly(
            database, sessions, settings, loops: loops, admin: admin, codes: codes, provider: provider,
            shutdown: shutdown, metrics: metrics, logger: logger)
        var configuration = configuration
        DescriptorLimit.apply(
            DescriptorLimit.raise(), to: &configuration, eventLoops: loops.count,
            perLoop: LoopAssembly.descriptorsPerLoop + settings.audiences.limits.pool.connectionsMax, logger)
        let server = try HTTPServer(
            configuration, loops: loops, logger: logger, makeApplication: assembly.application)
        for address in server.addresses { logger.notice("listening", metadata: ["address": "\(address)"]) }
        let http = HTTPService(
            server: server, shutdown: shutdown, drainDelay: settings.drainDelay, logger: logger)
        let gauges = try RegistryGauges(
            database, server: server, breakers: sessions.isDistributed ? assembly.breakers : nil, on: loops[0],
            logger: logger)
        let group = ServiceGroup(
            configuration: .init(
                services: [.init(service: assembly), .init(service: gauges), .init(service: http)],
                gracefulShutdownSignals: [.sigterm, .sigint], logger: logger))
        let guide = demo ? Demo(database, server, codes: codes, settings, logger: logger) : nil
        try await withThrowingDiscardingTaskGroup { tasks in
            if let embedded = database.embedded { tasks.addTask { await embedded.keepRunning() } }
            // If it fails, the service ends with its error.
            if let guide { tasks.addTask { try await guide.prepare() } }
            try await group.run()
            tasks.cancelAll()
        }
        for loop in loops { loop.stop() }
    }

    private func httpConfiguration() throws -> HTTPServerConfiguration {
        var configuration = settings.server
        configuration.inheritedSockets = inheritedSockets
        configuration.tls = try tlsFiles()
        return configuration
    }

    private func tlsFiles() throws -> TLSFiles? {
        switch (settings.tlsCertificate, settings.tlsKey) {
        case (let certificate?, let key?): return TLSFiles(certificateChain: certificate, privateKey: key)
        case (nil, nil): return nil
        default: throw ValidationError("TLS requires both a certificate (--tls-cert) and its key (--tls-key).")
        }
    }
}
