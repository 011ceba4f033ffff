import Glibc
public import Logging

/// How log lines look.
public enum LogFormat: String, Sendable, CaseIterable {
    /// For people at a terminal.
    case text
    /// For machines: a JSON object on each line.
    case json

    /// The longest message or metadata value that a line shows, in bytes as they are written: a page of text. What is
    /// longer is a stranger's input or a dump, and not for reading line by line.
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
