import ArgumentParser
import RegistryStore

/// What audience queries may take of the database, and of which; nil where the standard holds.
struct AudienceSettings: Sendable {
    /// A standby, say; the database itself by default.
    var readDatabaseURL: String?
    var limits = AudienceStoreLimits()

    init(_ reader: SettingsReader) throws {
        readDatabaseURL = reader.string("readDatabaseUrl")
        if let timeout = try reader.deadline("audienceTimeout") { limits.statementTimeout = timeout }
        if let deadline = try reader.deadline("exportDeadline") { limits.exportDeadline = deadline }
        if let count = try reader.count("audienceConnections", 2...64) {
            limits.connections = count
        }
    }
}

/// The flags of `AudienceSettings`.
struct AudienceOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Where audiences are read: a standby, as --database-url (default: where everything is written).",
            valueName: "url"))
    var readDatabaseUrl: String?

    @Option(help: ArgumentHelp("How long an audience query may take (default: PT20S).", valueName: "duration"))
    var audienceTimeout: String?

    @Option(help: ArgumentHelp("How long an export may take (default: PT15M).", valueName: "duration"))
    var exportDeadline: String?

    @Option(
        help: ArgumentHelp(
            "Connections of an event loop for audience queries, half of them for exports (default: 4).",
            valueName: "count"))
    var audienceConnections: String?

    /// The settings by their names in the file.
    var flags: [String: String?] {
        [
            "readDatabaseUrl": readDatabaseUrl, "audienceTimeout": audienceTimeout, "exportDeadline": exportDeadline,
            "audienceConnections": audienceConnections,
        ]
    }
}
