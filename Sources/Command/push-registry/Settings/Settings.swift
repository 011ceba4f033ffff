import ArgumentParser
import HTTPServer
import HTTPWire
import Logging
import PushRegistry
import RegistryAPI
import RegistryStore
import Telemetry

/// The validated settings. The defaults are those of the table.
struct Settings: Sendable {
    /// Addresses, connections, deadlines and sizes.
    var server = HTTPServerConfiguration(addresses: [])
    var bodies = BodyLimits()
    var databaseURL: String?
    var dataDirectory = ""
    var adminKey: String?
    var eventLoops = ProcessorShare.eventLoops
    var logLevel = Logger.Level.info
    var logFormat = LogFormat.standard
    /// Of this many successful requests, one is logged.
    var accessLogInterval = 1
    var tlsCertificate: String?
    var tlsKey: String?
    /// The origin at which browsers see the console, in lower case; nil if they connect to the service itself.
    var consoleOrigin: String?
    /// How long the server accepts connections after SIGTERM, while `/readyz` already returns 503.
    var drainDelay = Duration.zero
    /// Of one address; 0: without limit.
    var receipts = AppPolicy.RateLimit(rate: 0, burst: 0)
    var failedAuthentications = AppPolicy.RateLimit(rate: 0, burst: 0)
    var audiences = AudienceSettings()
    /// Whether `jwksURL` may lead to private networks and to this machine. The administrator of an app sets the URL and
    /// need not be the operator of the service.
    var allowsPrivateAddresses = false
    var signIn = SignInSettings()
    /// The largest share of an app's active and suspect installations that a run of the night job may retire, 0 to 1.
    var retiredShareMax = CleanUpBreaker.standardShare
    var historyRetention = ISO8601Duration.days(400)

    /// The source of `databaseURL`.
    let databaseSource: SettingSource
    /// Warnings to log before anything is started.
    let warnings: [String]

    /// - Throws: `ValidationError`.
    init(_ reader: SettingsReader) throws {
        databaseSource = reader.source("databaseUrl")
        warnings = reader.warnings
        for setting in Setting.all {
            guard let text = reader.string(setting.name) ?? setting.standardText else { continue }
            do {
                try setting.value.read(text, &self)
            } catch let error as SettingValue.Unexpected {
                throw reader.refusal(setting.name, text, error.expected)
            }
        }
        fitBuffers()
    }

    private mutating func fitBuffers() {
        // The buffer must hold a whole head.
        let wire = server.wireLimits
        let headBytesMax = wire.methodBytesMax + wire.targetBytesMax + wire.headerBytesMax
        server.pipelinedBytesMax = max(server.pipelinedBytesMax, headBytesMax)
        // The buffers must hold two of the largest bodies.
        let bodyBytesMax = max(bodies.registrationBytesMax, bodies.feedbackBytesMax)
        server.heldBytesMax = max(server.heldBytesMax, 2 * bodyBytesMax)
    }

    /// Limits with counts of their own.
    func makeCallLimits() -> CallLimits {
        CallLimits(guesses: failedAuthentications.unlessZero, receipts: receipts.unlessZero)
    }
}

/// The identity provider of the console.
struct SignInSettings: Sendable {
    var issuer: String?
    var clientID: String?
    var clientSecret: String?
    var groupsClaim = ""
    var adminGroup: String?
    var scopes = ""

    /// Nil: people sign in with keys alone.
    ///
    /// - Throws: `ValidationError`.
    func provider() throws -> IdentityProviderSettings? {
        switch (issuer, clientID) {
        case (nil, nil): return nil
        case (let issuer?, let clientID?):
            do throws(InvalidValue) {
                return try IdentityProviderSettings(
                    issuer: issuer, clientID: clientID, clientSecret: clientSecret, groupsClaim: groupsClaim,
                    adminGroup: adminGroup, scopes: scopes)
            } catch {
                throw ValidationError("The issuer (--oidc-issuer) is not valid: \(error.detail)")
            }
        default:
            throw ValidationError(
                "Sign-in by an identity provider requires both --oidc-issuer and --oidc-client-id.")
        }
    }
}

/// The database and the limits of audience queries.
struct AudienceSettings: Sendable {
    /// The database to read, for example a standby; nil for the main database.
    var readDatabaseURL: String?
    var limits = AudienceStoreLimits()
}

extension AppPolicy.RateLimit {
    fileprivate var unlessZero: AppPolicy.RateLimit? { rate > 0 && burst > 0 ? self : nil }
}
