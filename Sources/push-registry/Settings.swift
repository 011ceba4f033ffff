import ArgumentParser
import Configuration
import Logging
import SystemPackage
import Telemetry

/// The flags that every subcommand has, and the way from flags, environment and file to a setting.
struct CommonOptions: ParsableArguments {
    @Option(help: ArgumentHelp("A JSON file with settings.", valueName: "file"))
    var config: String?

    @Option(
        help: ArgumentHelp(
            "PostgreSQL, as a libpq URI or key words; several hosts are fine. Without it an embedded PostgreSQL is used.",
            valueName: "url"))
    var databaseUrl: String?

    @Option(help: ArgumentHelp("Where the embedded PostgreSQL lives (default: .push-registry).", valueName: "folder"))
    var dataDir: String?

    @Option(
        help: ArgumentHelp(
            "trace, debug, info, notice, warning, error or critical (default: info).", valueName: "level"))
    var logLevel: String?

    @Option(help: ArgumentHelp("text or json (default: text on a terminal, else json).", valueName: "format"))
    var logFormat: String?

    /// The settings by their names in the file: `databaseUrl`.
    var flags: [String: String?] {
        ["databaseUrl": databaseUrl, "dataDir": dataDir, "logLevel": logLevel, "logFormat": logFormat]
    }

    /// Reads all settings: what a flag leaves open comes from the environment, then from the file.
    func settings(_ more: [String: String?] = [:]) async throws -> Settings {
        let given = flags.merging(more) { _, new in new }.compactMapValues { $0 }
        var providers: [any ConfigProvider] = [
            InMemoryProvider(
                values: Dictionary(
                    uniqueKeysWithValues: given.map {
                        (AbsoluteConfigKey([$0.key]), ConfigValue(.string($0.value), isSecret: false))
                    })),
            EnvironmentVariablesProvider(secretsSpecifier: .all).prefixKeys(with: "pushRegistry"),
        ]
        if let config { providers.append(try await FileProvider<JSONSnapshot>(filePath: FilePath(config))) }
        return try Settings(ConfigReader(providers: providers))
    }
}

/// What the operator decided, checked.
struct Settings: Sendable {
    var listen: String
    var databaseURL: String?
    var dataDirectory: String
    var adminKey: String?
    var eventLoops: Int?
    var logLevel: Logger.Level
    var logFormat: LogFormat?
    var tlsCertificate: String?
    var tlsKey: String?
    var connections: ConnectionSettings
    var sizes: SizeSettings
    var audiences: AudienceSettings
    var cleanUp: CleanUpSettings
    /// Of so many requests that succeed, one is logged.
    var accessLogInterval: Int

    init(_ reader: ConfigReader) throws {
        listen = reader.string(forKey: "listen", default: "127.0.0.1:8080")
        databaseURL = reader.string(forKey: "databaseUrl", isSecret: true)
        dataDirectory = reader.string(forKey: "dataDir", default: ".push-registry")
        adminKey = reader.string(forKey: "adminKey", isSecret: true)
        tlsCertificate = reader.string(forKey: "tlsCert")
        tlsKey = reader.string(forKey: "tlsKey")
        logFormat = try reader.string(forKey: "logFormat").map(Self.format)
        eventLoops = try reader.count("eventLoops", "The number of event loops", 1...256)
        connections = try ConnectionSettings(reader)
        sizes = try SizeSettings(reader)
        audiences = try AudienceSettings(reader)
        cleanUp = try CleanUpSettings(reader)
        accessLogInterval = try reader.count("accessLogInterval", "The access log's interval", 1...1_000_000) ?? 1
        logLevel = try Self.level(reader.string(forKey: "logLevel", default: "info"))
    }

    private static func format(_ text: String) throws -> LogFormat {
        guard let format = LogFormat(rawValue: text) else {
            throw ValidationError("The log format is text or json, not \(text).")
        }
        return format
    }

    private static func level(_ text: String) throws -> Logger.Level {
        guard let level = Logger.Level(rawValue: text) else {
            let names = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")
            throw ValidationError("The log level is one of \(names), not \(text).")
        }
        return level
    }
}
