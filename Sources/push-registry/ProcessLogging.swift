import Logging
import Telemetry

/// The log of the process, set up once.
enum ProcessLogging {
    /// Sets the log up as the settings say, and gives the service's own.
    static func start(_ settings: Settings) -> Logger {
        let format = settings.logFormat ?? .standard
        let level = settings.logLevel
        LoggingSystem.bootstrap { format.makeHandler(label: $0, level: level) }
        return Logger(label: "push-registry")
    }

    /// The log of requests, as the settings say.
    static func makeAccessLog(_ settings: Settings, label: String) -> AccessLog {
        AccessLog(
            label: label, format: settings.logFormat ?? .standard, level: settings.logLevel,
            successInterval: settings.accessLogInterval)
    }
}
