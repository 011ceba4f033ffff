public import Logging

/// Writes each event as a JSON object on a line of its own:
/// `{"time":"…","level":"info","logger":"http","message":"request","route":"/healthz","status":200}`.
///
/// Metadata stands beside the message, sorted by key; a key that means something else here gets an underscore behind
/// it. Numbers and booleans stay what they are if they were given as `.stringConvertible`. Arrays and dictionaries
/// nest. A message or value longer than `valueBytesMax` ends in `…`.
///
/// It writes whatever it is given: that no secret becomes metadata is for those who log.
public struct JSONLogHandler: LogHandler {
    public var logLevel = Logger.Level.info
    public var metadata: Logger.Metadata = [:]
    public var metadataProvider: Logger.MetadataProvider?

    private let label: String
    private let output: LogOutput
    private let valueBytesMax: Int
    private let showsSource: Bool

    /// - Parameters:
    ///   - valueBytesMax: the longest message or metadata value, nested ones included, in bytes as they are written.
    ///   - showsSource: whether the module that logged is named as `source`.
    public init(
        label: String, output: LogOutput = .standardError, valueBytesMax: Int = LogFormat.valueBytesDefault,
        showsSource: Bool = false
    ) {
        self.label = label
        self.output = output
        self.valueBytesMax = valueBytesMax
        self.showsSource = showsSource
    }

    public subscript(metadataKey key: String) -> Logger.MetadataValue? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    public func log(event: LogEvent) {
        output.write(render(event, at: .now))
    }

    func render(_ event: LogEvent, at time: LogTime) -> [UInt8] {
        var line = JSONLine(valueBytesMax: valueBytesMax)
        line.begin(at: time)
        line.member("level", .string(event.level.rawValue))
        line.member("logger", .string(label))
        line.member("message", .string(event.message.description))
        if showsSource { line.member("source", .string(event.source)) }
        let fields = event.fields(self)
        for (key, value) in fields {
            line.member(Self.name(key, among: fields), value)
        }
        return line.end()
    }

    private static let ownKeys: Set<String> = ["time", "level", "logger", "message", "source"]

    /// The key, or what it is called here because its name is taken.
    private static func name(_ key: String, among fields: [(key: String, value: Logger.MetadataValue)]) -> String {
        guard ownKeys.contains(key) else { return key }
        var name = key + "_"
        while fields.contains(where: { $0.key == name }) { name += "_" }
        return name
    }
}
