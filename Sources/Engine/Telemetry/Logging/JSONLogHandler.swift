public import Logging
import StrictJSON

/// Writes each event as a JSON object on its own line:
/// `{"time":"…","level":"info","logger":"http","message":"request","route":"/healthz","status":200}`.
///
/// Metadata follows the message, sorted by key. A key that equals one of the handler's own gets an underscore appended.
/// Numbers and booleans keep their type if they were passed as `.stringConvertible`. Arrays and dictionaries nest. A
/// message or value longer than `valueBytesMax` is cut and ends in `…`.
///
/// It writes everything it is given: the caller must not put secrets into metadata.
public struct JSONLogHandler: LogHandler {
    /// Checked by the logger before it calls the handler, which itself writes every event.
    public var logLevel = Logger.Level.info
    /// Added to every event. A key of the event or of the provider takes precedence.
    public var metadata: Logger.Metadata = [:]
    /// Adds metadata of the task at the time of each event. A key of the event takes precedence.
    public var metadataProvider: Logger.MetadataProvider?

    private let label: String
    private let output: LogOutput
    private let valueBytesMax: Int

    /// - Parameter valueBytesMax: the longest message or metadata value, nested ones included, in encoded bytes.
    public init(
        label: String, output: LogOutput = .standardError, valueBytesMax: Int = LogFormat.valueBytesDefault
    ) {
        self.label = label
        self.output = output
        self.valueBytesMax = valueBytesMax
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
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("time", at: time)
            writer.member("level", event.level.rawValue)
            writer.member("logger", label)
            writer.member("message", .string(event.message.description), valueBytesMax: valueBytesMax)
            let fields = event.fields(self)
            for (key, value) in fields {
                writer.member(Self.name(key, among: fields), value, valueBytesMax: valueBytesMax)
            }
        }
        return writer.bytes + [UInt8(ascii: "\n")]
    }

    private static let ownKeys: Set<String> = ["time", "level", "logger", "message"]

    /// The key, renamed if it equals one of the handler's own.
    private static func name(_ key: String, among fields: [(key: String, value: Logger.MetadataValue)]) -> String {
        guard ownKeys.contains(key) else { return key }
        var name = key + "_"
        while fields.contains(where: { $0.key == name }) { name += "_" }
        return name
    }
}
