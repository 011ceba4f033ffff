import Logging
import Telemetry

/// The logging of the process.
enum ProcessLogging {
    /// Configures logging. Must be called once.
    ///
    /// - Returns: the logger of the service.
    static func start(_ settings: Settings) -> Logger {
        let format = settings.logFormat
        let level = settings.logLevel
        LoggingSystem.bootstrap { format.makeHandler(label: $0, level: level) }
        return Logger(label: "push-registry")
    }

    /// The access log.
    static func makeAccessLog(_ settings: Settings, label: String) -> AccessLog {
        AccessLog(
            label: label, format: settings.logFormat, level: settings.logLevel,
            successInterval: settings.accessLogInterval
        ) { routePattern in !routePattern.hasPrefix("/v1/") }
    }
}
