import ArgumentParser
import Basics
import Glibc
import HTTPServer
import Logging
import PushRegistry
import RegistryAPI
import Telemetry

struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Run the service.",
        discussion: """
            Without --database-url, it creates a private PostgreSQL in --data-dir, starts it and stops it at the end. \
            If you are root, PostgreSQL runs as an unprivileged user. Missing migrations are applied first.

            The admin key comes from PUSH_REGISTRY_ADMIN_KEY or the settings file, not from a flag, which every user \
            of the machine could read. With the embedded PostgreSQL, a key is generated on first start and printed once.

            Listening sockets from systemd (LISTEN_FDS) replace --listen.

            SIGTERM or Ctrl-C finishes the requests in progress and stops; a second signal stops at once.
            """)

    @OptionGroup var common: CommonOptions
    @OptionGroup var serving: ServingOptions

    @Flag(
        help: """
            Create two demo apps, one with 20,000 installations, and print curl commands and a link to the console. \
            Not for production.
            """)
    var demo = false

    func run() async throws {
        // If the reader of the log goes away, a write must fail instead of raising a signal that ends the service.
        signal(SIGPIPE, SIG_IGN)
        let inheritedSockets = try InheritedSocket.adoptAll()
        let settings = try await common.settings(serving.texts)
        let logger = ProcessLogging.start(settings)
        for warning in settings.warnings { logger.warning("\(warning)") }
        let server = RegistryServer(settings, inheritedSockets: inheritedSockets, logger: logger)
        try await server.run(demo: demo)
    }
}

/// This process, for the page of operations.
struct ServingProcess: Sendable {
    private let name = String(hex: UInt32.random(in: .min ... .max))
    private let startedAt = Timestamp.now()

    /// What the process did since its start, by its metrics.
    func rates(_ metrics: PrometheusRegistry) -> ProcessCounts {
        let requests = metrics.sums(of: RequestMetrics.countLabel, by: "status")
        let registrations = metrics.sums(
            of: RequestMetrics.countLabel, by: "status",
            where: [("route", RegistryService.registrationPattern), ("method", "PUT")])
        return ProcessCounts(
            process: name, startedAt: startedAt, requests: Self.sums(requests, by: Self.statusClass),
            registrations: Self.sums(registrations, by: Self.result))
    }

    private static func sums(_ counts: [String: Int64], by name: (String) -> String) -> [String: Int64] {
        Dictionary(counts.map { (name($0.key), $0.value) }, uniquingKeysWith: +)
    }

    private static func statusClass(_ status: String) -> String {
        Int(status) == nil ? status : "\(status.prefix(1))xx"
    }

    private static func result(_ status: String) -> String {
        switch status {
        case "201": "created"
        case "200": "accepted"
        case let status where status.hasPrefix("4"): "refused"
        default: "failed"
        }
    }
}

/// The logging of the process.
enum ProcessLogging {
    /// Configures logging. Must be called once.
    ///
    /// - Returns: the logger of the service.
    static func start(_ settings: Settings) -> Logger {
        let format = settings.logFormat
        let level = settings.logLevel
        LoggingSystem.bootstrap { format.makeHandler(label: $0, level: level) }
        return logger
    }

    /// The logger of the service.
    static var logger: Logger { Logger(label: "push-registry") }

    /// The access log.
    static func makeAccessLog(_ settings: Settings, label: String) -> AccessLog {
        AccessLog(
            label: label, format: settings.logFormat, level: settings.logLevel,
            successInterval: settings.accessLogInterval
        ) { routePattern in !routePattern.hasPrefix("/v1/") }
    }
}
