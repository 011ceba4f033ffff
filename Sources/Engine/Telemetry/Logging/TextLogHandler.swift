import Basics
import Glibc
public import Logging

/// Writes each event as a readable line: `2025-01-31T09:05:07.042Z INFO  http: request route=/healthz status=200`.
///
/// Metadata is sorted by key, and quoted if necessary. Characters that could move the cursor, end the line or change
/// the text direction are escaped, so that no client can forge a line. A message or value longer than `valueBytesMax`
/// is cut and ends in `…`.
///
/// It writes everything it is given: the caller must not put secrets into metadata.
public struct TextLogHandler: LogHandler {
    /// Checked by the logger before it calls the handler, which itself writes every event.
    public var logLevel = Logger.Level.info
    /// Added to every event. A key of the event or of the provider takes precedence.
    public var metadata: Logger.Metadata = [:]
    /// Adds metadata of the task at the time of each event. A key of the event takes precedence.
    public var metadataProvider: Logger.MetadataProvider?

    private let label: String
    private let output: LogOutput
    private let valueBytesMax: Int
    private let usesColor: Bool

    /// - Parameters:
    ///   - valueBytesMax: the longest message or metadata value, in bytes.
    ///   - usesColor: by default, whether the output is a terminal and `NO_COLOR` is unset or empty.
    public init(
        label: String, output: LogOutput = .standardError, valueBytesMax: Int = LogFormat.valueBytesDefault,
        usesColor: Bool? = nil
    ) {
        self.label = label
        self.output = output
        self.valueBytesMax = valueBytesMax
        self.usesColor = usesColor ?? Self.wantsColor(isTerminal: output.isTerminal, noColor: getenv("NO_COLOR"))
    }

    /// By no-color.org an empty variable counts as unset.
    static func wantsColor(isTerminal: Bool, noColor: UnsafePointer<CChar>?) -> Bool {
        isTerminal && (noColor.map { $0.pointee == 0 } ?? true)
    }

    public subscript(metadataKey key: String) -> Logger.MetadataValue? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    /// Queues the line and returns; it is dropped if the queue is full.
    public func log(event: LogEvent) {
        output.write(render(event, at: .now))
    }

    func render(_ event: LogEvent, at time: LogTime) -> [UInt8] {
        var line = TextLine(valueBytesMax: valueBytesMax, usesColor: usesColor)
        line.begin(at: time)
        line.level(event.level)
        line.message(event.message.description, logger: label)
        for (key, value) in event.fields(self) {
            line.field(key, value.description)
        }
        return line.end()
    }
}

/// Builds one log line for a terminal; values have a limited length.
struct TextLine {
    private var bytes: [UInt8] = []
    private let valueBytesMax: Int
    private let usesColor: Bool

    /// The SGR codes of ECMA-48 for colours.
    private enum Color: String {
        case dim = "2"
        case red = "31"
        case boldRed = "1;31"
        case yellow = "33"
        case green = "32"
        case cyan = "36"
    }

    init(valueBytesMax: Int, usesColor: Bool) {
        self.valueBytesMax = valueBytesMax
        self.usesColor = usesColor
    }

    mutating func begin(at time: LogTime) {
        colored(.dim) { time.write(to: &$0.bytes) }
    }

    mutating func level(_ level: Logger.Level) {
        raw(" ")
        colored(Self.color(level)) { $0.raw(Self.name(level)) }
    }

    mutating func message(_ message: String, logger: String) {
        raw(" ")
        colored(.dim) {
            $0.text(logger)
            $0.raw(":")
        }
        raw(" ")
        text(message)
    }

    mutating func field(_ key: String, _ value: String) {
        raw(" ")
        colored(.dim) {
            $0.text(key)
            $0.raw("=")
        }
        let isBare = !value.isEmpty && value.utf8.allSatisfy(\.isBare)
        if !isBare { raw("\"") }
        text(value, isQuoted: !isBare)
        if !isBare { raw("\"") }
    }

    mutating func end() -> [UInt8] {
        raw("\n")
        return bytes
    }

    /// Five characters each, so that messages are aligned.
    private static func name(_ level: Logger.Level) -> String {
        switch level {
        case .trace: "TRACE"
        case .debug: "DEBUG"
        case .info: "INFO "
        case .notice: "NOTE "
        case .warning: "WARN "
        case .error: "ERROR"
        case .critical: "FATAL"
        }
    }

    private static func color(_ level: Logger.Level) -> Color {
        switch level {
        case .trace, .debug: .dim
        case .info: .green
        case .notice: .cyan
        case .warning: .yellow
        case .error: .red
        case .critical: .boldRed
        }
    }
}

// MARK: - Text

extension String {
    /// As the text log writes a message: characters that control a terminal, end a line or change the text direction
    /// are escaped, such as `\n` and `\u{1b}`.
    package var escapedForTerminal: String { TextLine.escaped(self) }
}

extension TextLine {
    fileprivate static func escaped(_ text: String) -> String {
        var line = TextLine(valueBytesMax: .max, usesColor: false)
        line.text(text)
        return String(decoding: line.bytes, as: UTF8.self)
    }

    private mutating func colored(_ color: Color, _ body: (inout TextLine) -> Void) {
        if usesColor { raw("\u{1B}[\(color.rawValue)m") }
        body(&self)
        if usesColor { raw("\u{1B}[0m") }
    }

    private mutating func text(_ text: String, isQuoted: Bool = false) {
        let end = bytes.count + valueBytesMax
        for scalar in text.unicodeScalars {
            guard bytes.count < end else { return raw("…") }
            switch scalar {
            case "\n": raw("\\n")
            case "\"" where isQuoted: raw("\\\"")
            case "\\" where isQuoted: raw("\\\\")
            case _ where scalar.isPrintable: bytes.append(contentsOf: UTF8.encode(scalar)!)
            default:
                raw("\\u{")
                bytes.appendShortHex(UInt(scalar.value))
                raw("}")
            }
        }
    }

    private mutating func raw(_ text: String) {
        bytes.append(contentsOf: text.utf8)
    }
}

extension UInt8 {
    /// Whether a value with this byte needs no quotes.
    fileprivate var isBare: Bool {
        (0x21...0x7E).contains(self) && self != UInt8(ascii: "\"") && self != UInt8(ascii: "=")
            && self != UInt8(ascii: "\\")
    }
}

extension Unicode.Scalar {
    /// False for control characters, line ends, and characters that change the text direction.
    fileprivate var isPrintable: Bool {
        if isASCII { return (0x20..<0x7F).contains(value) }
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: return false
        default: return true
        }
    }
}
