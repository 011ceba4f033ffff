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
