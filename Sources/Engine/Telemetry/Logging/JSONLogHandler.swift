import Basics
import Glibc
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

/// Members of a log line's object, with values of bounded length.
extension JSONWriter {
    mutating func member(_ key: StaticString, at time: LogTime) {
        name(key)
        plainString { time.write(to: &$0) }
    }

    /// A key is never shortened: two keys could become equal.
    mutating func member(_ key: String, _ value: Logger.MetadataValue, valueBytesMax: Int) {
        name(key)
        write(value, endingAt: bytes.count + valueBytesMax)
    }

    private mutating func write(_ value: Logger.MetadataValue, endingAt end: Int) {
        switch value {
        case .string(let text): string(text, endingAt: end)
        case .stringConvertible(let value): write(value, endingAt: end)
        case .array(let values): write(values, endingAt: end)
        case .dictionary(let members): write(members, endingAt: end)
        }
    }

    private mutating func write(_ value: any CustomStringConvertible & Sendable, endingAt end: Int) {
        switch value {
        case let number as Int: integer(Int64(number))
        case let number as Double where number.isFinite: double(number)
        case let truth as Bool: boolean(truth)
        default: string(value.description, endingAt: end)
        }
    }

    private mutating func write(_ values: [Logger.MetadataValue], endingAt end: Int) {
        array { writer in
            for value in values {
                guard writer.bytes.count < end else { return writer.string("…") }
                writer.write(value, endingAt: end)
            }
        }
    }

    private mutating func write(_ members: Logger.Metadata, endingAt end: Int) {
        object { writer in
            for (key, value) in members.sorted(by: { $0.key < $1.key }) where writer.bytes.count < end {
                writer.name(key)
                writer.write(value, endingAt: end)
            }
        }
    }
}

extension LogEvent {
    /// All metadata of the event, sorted by key. The event's own takes precedence over the provider's, and the
    /// provider's over the logger's. The event's error is added under `error`.
    func fields(_ handler: some LogHandler) -> [(key: String, value: Logger.MetadataValue)] {
        var all = handler.metadata
        if let provider = handler.metadataProvider { all.merge(provider.get()) { $1 } }
        if let error { all["error"] = "\(error)" }
        // Usually there is only the event's own metadata; merging would hash every key again.
        if all.isEmpty { all = metadata ?? [:] } else if let metadata { all.merge(metadata) { $1 } }
        return all.sorted { $0.key < $1.key }
    }
}

/// A time in the format of log lines: RFC 3339 in UTC with milliseconds, `2025-01-31T09:05:07.042Z`.
struct LogTime {
    let seconds: time_t
    let milliseconds: Int

    static var now: LogTime {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return LogTime(seconds: time.tv_sec, milliseconds: time.tv_nsec / 1_000_000)
    }

    func write(to bytes: inout [UInt8]) {
        bytes.appendDateTime(Int64(seconds))
        bytes.append(UInt8(ascii: "."))
        bytes.appendDecimal(UInt(milliseconds), digitsMin: 3)
        bytes.append(UInt8(ascii: "Z"))
    }
}
