import Glibc
public import Logging

/// The format of log lines.
public enum LogFormat: String, Sendable, CaseIterable {
    /// For people at a terminal.
    case text
    /// For machines: a JSON object on each line.
    case json

    /// The longest message or metadata value of a line, in encoded bytes: a page of text. A longer value is client
    /// input or a dump.
    public static let valueBytesDefault = 4_096

    /// Text if standard error is a terminal, else JSON.
    public static var standard: LogFormat { isatty(STDERR_FILENO) == 1 ? .text : .json }

    /// A handler of this format for `LoggingSystem.bootstrap`.
    public func makeHandler(label: String, level: Logger.Level = .info) -> any LogHandler {
        LogOutput.standardError.use(self)
        var handler: any LogHandler =
            switch self {
            case .text: TextLogHandler(label: label)
            case .json: JSONLogHandler(label: label)
            }
        handler.logLevel = level
        return handler
    }
}
