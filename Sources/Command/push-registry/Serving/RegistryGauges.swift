import CoreMetrics
import EventLoop
import HTTPServer
import Logging
import PostgresClient
import RegistryJobs
import RegistryStore
import ServiceLifecycle

/// Reads the values of gauges from the database at an interval. A scrape returns the last values. On Citus it also
/// reads which breakers for feedback are open.
struct RegistryGauges: Service, CustomStringConvertible {
    /// The service group logs its services.
    var description: String { "RegistryGauges" }

    /// Scrapes are rarely more frequent.
    static let interval = Duration.seconds(15)

    private let loop: EventLoop
    private let postgres: PostgresClient
    private let installations: InstallationCounts
    private let server: HTTPServer
    private let connections = Gauge(label: "http_connections")
    private let breakers: OpenBreakers?
    private let logger: Logger

    /// - Parameter breakers: nil: each `GET /readyz` reads them.
    init(
        _ database: Database, server: HTTPServer, breakers: OpenBreakers?, on loop: EventLoop, logger: Logger
    ) throws {
        self.loop = loop
        self.breakers = breakers
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
                group.addTask(executorPreference: loop) { await refreshUntilCancelled() }
            }
        }
    }

    private func refreshUntilCancelled() async {
        while !Task.isCancelled {
            connections.record(server.connectionCount)
            await refresh("active installations") { try await refreshInstallations() }
            await refresh("the night job's result") { try await refreshCleanUp() }
            await refresh("open breakers") { try await breakers?.refresh(postgres) }
            try? await Task.sleep(for: Self.interval)
        }
    }

    /// Logs an error. While the database is unreachable, the gauges keep their last values; the pool logs the outage.
    private func refresh(_ what: String, _ body: () async throws -> Void) async {
        do {
            try await body()
        } catch {
            logger.debug("\(what) could not be read", metadata: ["reason": "\(error)"])
        }
    }

    private func refreshInstallations() async throws {
        for count in try await installations.read() {
            Gauge(
                label: "active_installations", dimensions: [("app", count.app), ("provider", count.provider)]
            ).record(count.active)
        }
    }

    private func refreshCleanUp() async throws {
        guard let result = try await CleanUpResult.last(postgres) else { return }
        Gauge(label: "cleanup_last_finished_timestamp_seconds").record(result.finishedAt)
        Gauge(label: "cleanup_last_duration_seconds").record(result.finishedAt - result.startedAt)
        Gauge(label: "cleanup_last_refused_apps").record(result.refusedApps)
        for count in result.counts {
            let gauge =
                count.step == "typedTokens"
                ? Gauge(label: "cleanup_last_typed_tokens", dimensions: [("app", count.app)])
                : Gauge(label: "cleanup_last_installations", dimensions: [("app", count.app), ("step", count.step)])
            gauge.record(count.count)
        }
    }
}
