import ArgumentParser
import RegistryStore

/// The database and the limits of audience queries.
struct AudienceSettings: Sendable {
    /// The database to read, for example a standby; nil for the main database.
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
            "The database for audience queries, such as a standby (default: the database of --database-url).",
            valueName: "url"))
    var readDatabaseUrl: String?

    @Option(help: ArgumentHelp("How long an audience query may take (default: PT20S).", valueName: "duration"))
    var audienceTimeout: String?

    @Option(help: ArgumentHelp("How long an export may take (default: PT15M).", valueName: "duration"))
    var exportDeadline: String?

    @Option(
        help: ArgumentHelp(
            "Connections per event loop for audience queries, half of them for exports (default: 4).",
            valueName: "count"))
    var audienceConnections: String?

    /// The values by setting name.
    var flags: [String: String?] {
        [
            "readDatabaseUrl": readDatabaseUrl, "audienceTimeout": audienceTimeout, "exportDeadline": exportDeadline,
            "audienceConnections": audienceConnections,
        ]
    }
}
