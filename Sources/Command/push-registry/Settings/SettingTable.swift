import ArgumentParser
import Basics
import HTTPServer
import HTTPWire
import Logging
import PushRegistry
import RegistryAPI
import RegistryStore
import Telemetry

/// Settings whose flags stand together in a help text.
protocol SettingGroup { static var settings: [Setting] { get } }

extension Setting {
    /// Every setting. Flags, variables, the file, help texts and `push-registry config` follow this table.
    static let all =
        Common.settings + Service.settings + Connections.settings + Sizes.settings + AddressLimits.settings
        + Audiences.settings + KeySets.settings + SignIn.settings + NightJob.settings

    /// Every subcommand has these.
    enum Common: SettingGroup {
        static let settings = [
            Setting(
                "databaseUrl", default: "(the embedded PostgreSQL)",
                "PostgreSQL, as a libpq URI or keywords, also with several hosts",
                .text("url") { $0.databaseURL = $1 }, isSecret: true),
            Setting(
                "dataDir", default: ".push-registry", "The folder of the embedded PostgreSQL",
                .text("folder") { $0.dataDirectory = $1 }),
            Setting(
                "logLevel", default: "info", "trace, debug, info, notice, warning, error or critical",
                SettingValue("level", "", level) { $0.logLevel = $1 }),
            Setting(
                "logFormat", default: "(text on a terminal, else json)", "text or json",
                SettingValue("format", "", format) { $0.logFormat = $1 }),
        ]
    }

    enum Service: SettingGroup {
        static let settings = [
            listen,
            Setting(
                "adminKey", default: "(created with the embedded PostgreSQL; needed with databaseUrl)",
                "The key of the administrator",
                .text("key") { $0.adminKey = $1 }, hasFlag: false, isSecret: true),
            Setting(
                "eventLoops", default: "(one per processor, at most 16)", "The number of event loops",
                .count(1...256) { $0.eventLoops = $1 }),
            tlsCert,
            Setting(
                "tlsKey", default: "(plain HTTP)", "The certificate's key, PEM", .text("file") { $0.tlsKey = $1 }),
            Setting(
                "consoleOrigin", default: "(the service's own)",
                "The address at which browsers see /console/, if a proxy ends TLS",
                SettingValue(
                    "https://host", "an https origin such as https://push.example.com, without a path",
                    { WebOrigin($0)?.text }, { $0.consoleOrigin = $1 })),
        ]
    }

    static let listen = Setting(
        "listen", default: "127.0.0.1:8080", "The address to listen on",
        SettingValue("host:port", "", addresses) { $0.server.addresses = $1 })

    static let tlsCert = Setting(
        "tlsCert", default: "(plain HTTP)", "The certificate chain for TLS, PEM; reloaded on SIGHUP",
        .text("file") { $0.tlsCertificate = $1 })

    enum Connections: SettingGroup {
        static let settings = [
            Setting(
                "trustedProxies", default: "(none)",
                "Reverse proxies whose X-Forwarded-For is trusted: addresses or blocks with commas",
                SettingValue("10.0.0.0/8,…", "", ranges) { $0.server.trustedProxies = $1 }),
            Setting(
                "connectionsMax", default: "20000",
                "The most open connections; then one that is silent or idle is closed",
                .count(1...1_000_000) { $0.server.connectionsMax = $1 }),
            Setting(
                "connectionsPerAddressMax", default: "(no limit)",
                "The most connections of one address; others get a 503",
                .count(1...1_000_000) { $0.server.connectionsPerAddressMax = $1 }),
            Setting(
                "headDeadline", default: "PT10S", "How long a request's header may take to arrive",
                .deadline { $0.server.timeouts.head = $1 }),
            Setting(
                "bodyDeadline", default: "PT30S", "How long a request's body may take to arrive",
                .deadline { $0.server.timeouts.body = $1 }),
            Setting(
                "handlerDeadline", default: "PT30S", "How long a response may take to begin",
                .deadline { $0.server.timeouts.handler = $1 }),
            Setting(
                "writeDeadline", default: "PT30S",
                "A client that reads less than 512 bytes a second over this time is disconnected",
                .deadline { $0.server.timeouts.write = $1 }),
            Setting(
                "idleDeadline", default: "PT75S",
                "How long a connection may be idle. Longer than the load balancer's idle timeout",
                .deadline { $0.server.timeouts.idle = $1 }),
            Setting(
                "drainDelay", default: "PT0S",
                "After SIGTERM, keep serving this long while /readyz returns 503",
                .deadline(from: .zero) { $0.drainDelay = $1 }),
            Setting(
                "drainDeadline", default: "PT30S", "How long a shutdown waits for requests in progress",
                .deadline { $0.server.timeouts.drain = $1 }),
            Setting(
                "accessLogInterval", default: "1", "Log every nth successful request; others are always logged",
                .count(1...1_000_000) { $0.accessLogInterval = $1 }),
        ]
    }

    enum Sizes: SettingGroup {
        static let settings = [
            Setting(
                "targetMax", default: "8KiB", "The longest request target, else 414",
                .size(256...1_048_576) { $0.server.wireLimits.targetBytesMax = $1 }),
            Setting(
                "headerMax", default: "32KiB", "The largest request header, else 431",
                .size(1_024...1_048_576) { $0.server.wireLimits.headerBytesMax = $1 }),
            Setting(
                "headerFieldsMax", default: "100", "The most fields of a header, else 431",
                .count(10...10_000) { $0.server.wireLimits.fieldsMax = $1 }),
            Setting(
                "registrationMax", default: "64KiB", "The largest registration, else 413",
                .size(1_024...16_777_216) { $0.bodies.registrationBytesMax = $1 }),
            Setting(
                "feedbackMax", default: "8MiB", "The largest feedback call, else 413",
                .size(1_024...268_435_456) { $0.bodies.feedbackBytesMax = $1 }),
        ]
    }

    /// How often one address may send receipts, and how often it may fail to authenticate.
    enum AddressLimits: SettingGroup {
        static let settings = [
            Setting(
                "receiptRate", default: "50", "Calls with receipts per second and address; 0: no limit",
                .count(0...1_000_000) { $0.receipts.rate = Double($1) }),
            Setting(
                "receiptBurst", default: "500", "Calls with receipts of an address at once; 0: no limit",
                .count(0...1_000_000) { $0.receipts.burst = $1 }),
            Setting(
                "failedAuthenticationRate", default: "10",
                "Failed authentications per second and address; 0: no limit",
                .count(0...1_000_000) { $0.failedAuthentications.rate = Double($1) }),
            Setting(
                "failedAuthenticationBurst", default: "100",
                "Failed authentications of an address at once; 0: no limit",
                .count(0...1_000_000) { $0.failedAuthentications.burst = $1 }),
        ]
    }

    enum Audiences: SettingGroup {
        static let settings = [
            Setting(
                "readDatabaseUrl", default: "(the database of --database-url)",
                "The database for audience queries, such as a standby",
                .text("url") { $0.audiences.readDatabaseURL = $1 }, isSecret: true),
            Setting(
                "audienceTimeout", default: "PT20S", "How long an audience query may take",
                .deadline { $0.audiences.limits.statementTimeout = $1 }),
            Setting(
                "exportDeadline", default: "PT15M", "How long an export may take",
                .deadline { $0.audiences.limits.exportDeadline = $1 }),
            Setting(
                "audienceConnections", default: "4",
                "Connections per event loop for audience queries, half of them for exports",
                .count(2...64) { $0.audiences.limits.connections = $1 }),
        ]
    }

    enum KeySets: SettingGroup {
        static let settings = [
            Setting(
                "jwksPrivateAddresses", default: "refused",
                "Whether jwksURL may lead to private networks and this machine",
                SettingValue("refused|allowed", "refused or allowed", { ["refused": false, "allowed": true][$0] }) {
                    $0.allowsPrivateAddresses = $1
                })
        ]
    }

    /// The identity provider by which people sign in to the console.
    enum SignIn: SettingGroup {
        static let settings = [
            Setting(
                "oidcIssuer", default: "(people sign in with keys)",
                "The issuer of the OpenID provider by which people sign in to the console",
                .text("url") { $0.signIn.issuer = $1 }),
            Setting(
                "oidcClientId", default: "(none)", "The console's client id at the provider",
                .text("id") { $0.signIn.clientID = $1 }),
            Setting(
                "oidcClientSecret", default: "(a public client)", "The console's client secret at the provider",
                .text("secret") { $0.signIn.clientSecret = $1 }, hasFlag: false, isSecret: true),
            Setting(
                "oidcScopes", default: "openid profile email", "The scopes that the console asks for",
                SettingValue(
                    "scopes", "scopes with spaces between them, openid among them",
                    { $0.split(separator: " ").contains("openid") ? $0 : nil }, { $0.signIn.scopes = $1 })),
            Setting(
                "oidcGroupsClaim", default: "groups", "The claim of the ID token with a person's groups",
                .text("name") { $0.signIn.groupsClaim = $1 }),
            Setting(
                "oidcAdminGroup", default: "(none)", "The group that may do in the console what the admin key may",
                .text("group") { $0.signIn.adminGroup = $1 }),
        ]
    }

    enum NightJob: SettingGroup {
        static let settings = [
            Setting(
                "cleanupMaxShare", default: "20%",
                "The largest share of an app's active installations that one run may retire",
                .share { $0.retiredShareMax = $1 }, flag: "max-share"),
            Setting(
                "historyRetention", default: "P400D", "How long history is kept, in whole months",
                .retention { $0.historyRetention = $1 }),
        ]
    }

    /// The settings of `serve` that `healthcheck` reads, too.
    enum HealthCheck: SettingGroup { static let settings = [listen, tlsCert] }
}

// MARK: Values with error texts of their own

private func addresses(_ text: String) throws -> [ListenAddress]? {
    try text.split(separator: ",", omittingEmptySubsequences: false).map { text in
        guard let address = ListenAddress(String(text)) else {
            throw ValidationError("\(text) is not an address: it must be host:port, such as 127.0.0.1:8080.")
        }
        return address
    }
}

private func ranges(_ text: String) throws -> [AddressRange]? {
    try text.split(separator: ",").map { element in
        guard let range = AddressRange(String(element.filter { $0 != " " })) else {
            throw ValidationError(
                "\(element) is not an address. Trusted proxies are addresses (10.0.0.1) or blocks (10.0.0.0/8), "
                    + "separated by commas.")
        }
        return range
    }
}

private func format(_ text: String) throws -> LogFormat? {
    guard let format = LogFormat(rawValue: text) else {
        throw ValidationError("The log format must be text or json, not \(text).")
    }
    return format
}

private func level(_ text: String) throws -> Logger.Level? {
    guard let level = Logger.Level(rawValue: text) else {
        let names = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")
        throw ValidationError("The log level must be one of \(names), not \(text).")
    }
    return level
}
