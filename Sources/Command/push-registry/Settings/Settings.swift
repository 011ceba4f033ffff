import ArgumentParser
import Foundation
import HTTPServer
import Logging
import PushRegistry
import Telemetry

/// The flags of every subcommand, which also read the settings.
struct CommonOptions: ParsableArguments {
    @Option(help: ArgumentHelp("A JSON file with settings; `push-registry config` lists them.", valueName: "file"))
    var config: String?

    @Option(
        help: ArgumentHelp(
            "PostgreSQL, as a libpq URI or keywords, also with several hosts (default: the embedded PostgreSQL).",
            valueName: "url"))
    var databaseUrl: String?

    @Option(
        help: ArgumentHelp("The folder of the embedded PostgreSQL (default: .push-registry).", valueName: "folder"))
    var dataDir: String?

    @Option(
        help: ArgumentHelp(
            "trace, debug, info, notice, warning, error or critical (default: info).", valueName: "level"))
    var logLevel: String?

    @Option(help: ArgumentHelp("text or json (default: text on a terminal, else json).", valueName: "format"))
    var logFormat: String?

    /// The values by setting name, such as `databaseUrl`.
    var flags: [String: String?] {
        ["databaseUrl": databaseUrl, "dataDir": dataDir, "logLevel": logLevel, "logFormat": logFormat]
    }

    /// Reads and validates all settings: from flags, then the environment, then the file.
    func settings(_ more: [String: String?] = [:]) async throws -> Settings {
        try Settings(reader(more))
    }

    func reader(_ more: [String: String?] = [:]) throws -> SettingsReader {
        try SettingsReader(
            flags: flags.merging(more) { _, new in new }, environment: ProcessInfo.processInfo.environment, file: config
        )
    }
}

/// The validated settings.
struct Settings: Sendable {
    var listen: [ListenAddress]
    var databaseURL: String?
    var dataDirectory: String
    var adminKey: String?
    var eventLoops: Int
    var logLevel: Logger.Level
    var logFormat: LogFormat?
    var tlsCertificate: String?
    var tlsKey: String?
    /// The origin at which browsers see the console, in lower case; nil if they connect to the service itself.
    var consoleOrigin: String?
    var connections: ConnectionSettings
    var sizes: SizeSettings
    var audiences: AudienceSettings
    var addressLimits: AddressLimitSettings
    var keySets: KeySetSettings
    var cleanUp: CleanUpSettings
    /// Of this many successful requests, one is logged.
    var accessLogInterval: Int

    /// The source of `databaseURL`.
    var databaseSource: SettingSource
    /// Warnings to log before anything is started.
    var warnings: [String]

    init(_ reader: SettingsReader) throws {
        listen = try Self.addresses(reader.string("listen") ?? SettingsCatalog.entry("listen")?.standard ?? "")
        databaseURL = reader.string("databaseUrl")
        databaseSource = reader.source("databaseUrl")
        dataDirectory = reader.string("dataDir") ?? SettingsCatalog.entry("dataDir")?.standard ?? ""
        adminKey = reader.string("adminKey")
        tlsCertificate = reader.string("tlsCert")
        tlsKey = reader.string("tlsKey")
        consoleOrigin = try reader.string("consoleOrigin").map { try Self.origin($0, reader) }
        logFormat = try reader.string("logFormat").map(Self.format)
        eventLoops = try reader.count("eventLoops", 1...256) ?? ProcessorShare.eventLoops
        connections = try ConnectionSettings(reader)
        sizes = try SizeSettings(reader)
        audiences = try AudienceSettings(reader)
        addressLimits = try AddressLimitSettings(reader)
        keySets = try KeySetSettings(reader)
        cleanUp = try CleanUpSettings(reader)
        accessLogInterval = try reader.count("accessLogInterval", 1...1_000_000) ?? 1
        logLevel = try Self.level(reader.string("logLevel") ?? "info")
        warnings = reader.warnings
    }

    private static func addresses(_ text: String) throws -> [ListenAddress] {
        try text.split(separator: ",", omittingEmptySubsequences: false).map { text in
            guard let address = ListenAddress(String(text)) else {
                throw ValidationError("\(text) is not an address: it must be host:port, such as 127.0.0.1:8080.")
            }
            return address
        }
    }

    /// `https://host:port`, as browsers write it: without the port 443, without a path.
    private static func origin(_ text: String, _ reader: SettingsReader) throws -> String {
        guard let origin = WebOrigin(text) else {
            throw reader.refusal(
                "consoleOrigin", text, "an https origin such as https://push.example.com, without a path")
        }
        return origin.text
    }

    private static func format(_ text: String) throws -> LogFormat {
        guard let format = LogFormat(rawValue: text) else {
            throw ValidationError("The log format must be text or json, not \(text).")
        }
        return format
    }

    private static func level(_ text: String) throws -> Logger.Level {
        guard let level = Logger.Level(rawValue: text) else {
            let names = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")
            throw ValidationError("The log level must be one of \(names), not \(text).")
        }
        return level
    }
}
