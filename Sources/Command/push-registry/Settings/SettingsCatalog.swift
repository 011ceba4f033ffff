import HTTPServer

/// A setting.
struct SettingEntry: Sendable {
    /// The name in the file, such as `dataDir`.
    let name: String
    /// The flag, such as `--data-dir`; nil for a secret that must not be part of a command line.
    let flag: String?
    /// The default value in the syntax of the file, or a description of it in parentheses.
    let standard: String
    var isSecret = false

    /// The environment variable, derived from the name: `PUSH_REGISTRY_DATA_DIR`.
    var variable: String {
        SettingsCatalog.variablePrefix
            + name.map { $0.isUppercase ? "_\($0)" : $0.uppercased() }.joined()
    }
}

/// All settings. Names are checked and values are shown by this list.
enum SettingsCatalog {
    static let variablePrefix = "PUSH_REGISTRY_"

    static let all: [SettingEntry] = [
        SettingEntry(name: "listen", flag: "--listen", standard: "127.0.0.1:8080"),
        SettingEntry(
            name: "databaseUrl", flag: "--database-url", standard: "(the embedded PostgreSQL)", isSecret: true),
        SettingEntry(
            name: "readDatabaseUrl", flag: "--read-database-url", standard: "(the database)", isSecret: true),
        SettingEntry(name: "dataDir", flag: "--data-dir", standard: ".push-registry"),
        SettingEntry(
            name: "adminKey", flag: nil, standard: "(created with the embedded PostgreSQL)", isSecret: true),
        SettingEntry(name: "tlsCert", flag: "--tls-cert", standard: "(plain HTTP)"),
        SettingEntry(name: "tlsKey", flag: "--tls-key", standard: "(plain HTTP)"),
        SettingEntry(name: "consoleOrigin", flag: "--console-origin", standard: "(the address of the service)"),
        SettingEntry(name: "eventLoops", flag: "--event-loops", standard: "(one per processor, at most 16)"),
        SettingEntry(name: "logLevel", flag: "--log-level", standard: "info"),
        SettingEntry(name: "logFormat", flag: "--log-format", standard: "(text on a terminal, else json)"),
        SettingEntry(name: "accessLogInterval", flag: "--access-log-interval", standard: "1"),
        SettingEntry(name: "trustedProxies", flag: "--trusted-proxies", standard: "(none)"),
        SettingEntry(name: "connectionsMax", flag: "--connections-max", standard: "20000"),
        SettingEntry(
            name: "connectionsPerAddressMax", flag: "--connections-per-address-max", standard: "(no limit)"),
        SettingEntry(name: "headDeadline", flag: "--head-deadline", standard: "PT10S"),
        SettingEntry(name: "bodyDeadline", flag: "--body-deadline", standard: "PT30S"),
        SettingEntry(name: "handlerDeadline", flag: "--handler-deadline", standard: "PT30S"),
        SettingEntry(name: "writeDeadline", flag: "--write-deadline", standard: "PT30S"),
        SettingEntry(name: "idleDeadline", flag: "--idle-deadline", standard: "PT75S"),
        SettingEntry(name: "drainDelay", flag: "--drain-delay", standard: "PT0S"),
        SettingEntry(name: "drainDeadline", flag: "--drain-deadline", standard: "PT30S"),
        SettingEntry(name: "audienceTimeout", flag: "--audience-timeout", standard: "PT20S"),
        SettingEntry(name: "exportDeadline", flag: "--export-deadline", standard: "PT15M"),
        SettingEntry(name: "audienceConnections", flag: "--audience-connections", standard: "4"),
        SettingEntry(name: "jwksPrivateAddresses", flag: "--jwks-private-addresses", standard: "refused"),
        SettingEntry(name: "cleanupMaxShare", flag: "--max-share", standard: "20%"),
        SettingEntry(name: "historyRetention", flag: "--history-retention", standard: "P400D"),
        SettingEntry(name: "targetMax", flag: "--target-max", standard: "8KiB"),
        SettingEntry(name: "headerMax", flag: "--header-max", standard: "32KiB"),
        SettingEntry(name: "headerFieldsMax", flag: "--header-fields-max", standard: "100"),
        SettingEntry(name: "registrationMax", flag: "--registration-max", standard: "64KiB"),
        SettingEntry(name: "receiptRate", flag: "--receipt-rate", standard: "50"),
        SettingEntry(name: "receiptBurst", flag: "--receipt-burst", standard: "500"),
        SettingEntry(name: "failedAuthenticationRate", flag: "--failed-authentication-rate", standard: "10"),
        SettingEntry(name: "failedAuthenticationBurst", flag: "--failed-authentication-burst", standard: "100"),
        SettingEntry(name: "feedbackMax", flag: "--feedback-max", standard: "8MiB"),
    ]

    static func entry(_ name: String) -> SettingEntry? { all.first { $0.name == name } }
}
