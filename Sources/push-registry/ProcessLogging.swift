import Logging

/// Logs and metrics of the process, set up once.
enum ProcessLogging {
    /// Sets the log up as the settings say.
    static func start(_ settings: Settings) -> Logger {
        let level = settings.logLevel
        LoggingSystem.bootstrap { label in
            var handler = StreamLogHandler.standardError(label: label)
            handler.logLevel = level
            return handler
        }
        return Logger(label: "push-registry")
    }
}
