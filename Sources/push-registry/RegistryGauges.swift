import CoreMetrics
import EventLoop
import HTTPServer
import Logging
import PostgresClient
import RegistryStore
import ServiceLifecycle

/// Keeps the gauges of what nobody counts as it happens: it is looked at every few seconds, and a scrape finds the last
/// look.
struct RegistryGauges: Service, CustomStringConvertible {
    /// The service group logs its services whole.
    var description: String { "RegistryGauges" }

    /// Scrapes are seldom more frequent.
    static let interval = Duration.seconds(15)

    private let loop: EventLoop
    private let postgres: PostgresClient
    private let installations: InstallationCounts
    private let server: HTTPServer
    private let connections = Gauge(label: "http_connections")
    private let logger: Logger

    init(_ database: Database, server: HTTPServer, on loop: EventLoop, logger: Logger) throws {
        self.loop = loop
        self.server = server
        self.logger = logger
        postgres = PostgresClient(
            try database.gaugeConfiguration, on: loop, limits: .init(connectionsMin: 0, connectionsMax: 1),
            name: "gauges", logger: logger)
        installations = InstallationCounts(postgres: postgres)
    }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                group.addTask(executorPreference: loop) { await postgres.run() }
                group.addTask(executorPreference: loop) { await refreshForEver() }
            }
        }
    }

    private func refreshForEver() async {
        while !Task.isCancelled {
            connections.record(server.connectionCount)
            await refresh("active installations") { try await refreshInstallations() }
            await refresh("the night job's result") { try await refreshCleanUp() }
            try? await Task.sleep(for: Self.interval)
        }
    }

    /// While the database is away the last values stand; the pool has said already that it is.
    private func refresh(_ what: String, _ body: () async throws -> Void) async {
        do {
            try await body()
        } catch {
            logger.debug("\(what) could not be looked at", metadata: ["reason": "\(error)"])
        }
    }

    private func refreshInstallations() async throws {
        for count in try await installations.read() {
            Gauge(
                label: "registry_active_installations", dimensions: [("app", count.app), ("provider", count.provider)]
            ).record(count.active)
        }
    }

    private func refreshCleanUp() async throws {
        guard let result = try await CleanUpResult.last(postgres) else { return }
        Gauge(label: "cleanup_last_finished_timestamp_seconds").record(result.finishedAt)
        Gauge(label: "cleanup_last_duration_seconds").record(result.finishedAt - result.startedAt)
        Gauge(label: "cleanup_last_refused_apps").record(result.refusedApps)
        for count in result.counts {
            Gauge(label: "cleanup_last_installations", dimensions: [("app", count.app), ("step", count.step)])
                .record(count.installations)
        }
    }
}
