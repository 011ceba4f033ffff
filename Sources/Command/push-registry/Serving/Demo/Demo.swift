import EventLoop
import HTTPServer
import Logging
import PushRegistry
import RegistryAPI
import RegistryStore

/// Two apps to try the service with: one for curl commands, and one with a fleet for the console.
struct Demo {
    static let appText = "com.example.demo"
    private static let keyName = "demo"

    private let database: Database
    private let server: HTTPServer
    private let codes: OneTimeCodes
    private let settings: Settings
    private let logger: Logger

    /// - Parameter codes: of the service, which redeems the code of the printed link.
    init(_ database: Database, _ server: HTTPServer, codes: OneTimeCodes, _ settings: Settings, logger: Logger) {
        self.database = database
        self.server = server
        self.codes = codes
        self.settings = settings
        self.logger = logger
    }

    private var usesTLS: Bool { settings.tlsCertificate != nil }

    /// Creates the apps if they are missing, and new keys. The keys of an earlier demo are revoked: nobody knows their
    /// secrets.
    func prepare() async throws {
        let (commands, console) = try await database.withDirectory { directory in
            let app = try await Self.app(Self.appText, in: directory)
            let fleet = try await Self.app(DemoFleet.appText, in: directory)
            return (
                try await newKey(of: app, [.service, .sender, .marketing], in: directory),
                try await newKey(of: fleet, [.admin], in: directory)
            )
        }
        await fill()
        show(lines(commands.text))
        show(link(codes.issue(for: console.key.id, at: .now())))
    }

    /// The service works without the fleet, too.
    private func fill() async {
        do {
            try await DemoFleet(database, settings.audiences, logger: logger).fill()
        } catch {
            logger.warning("the demo's fleet is incomplete", metadata: ["reason": "\(error)"])
        }
    }

    private static func app(_ text: String, in directory: PostgresAppDirectory) async throws -> App {
        _ = try await directory.createIfMissing(text.asAppID(), recording: .ofCommand(.appCreated, text))
        return try await directory.current().app(text)
    }

    private func newKey(
        of app: App, _ roles: Set<Role>, in directory: PostgresAppDirectory
    ) async throws -> NewKey {
        for old in try await directory.current().keys(of: app.number) where old.name == Self.keyName {
            _ = try await directory.revokeKey(old.id, of: app.number, recording: .ofCommand(.keyRevoked, old.id))
        }
        let new = NewKey(of: app, name: Self.keyName, roles: roles)
        try await directory.add(new.key, recording: .ofCommand(.keyCreated, new.key.id))
        return new
    }

    private var origin: String { "\(usesTLS ? "https" : "http")://127.0.0.1:\(server.port)" }

    private func link(_ code: String) -> String {
        """
        See the \(DemoFleet.installationCount) installations of the app \(DemoFleet.appText) in the console.
        This link signs you in once, on this machine, within \(OneTimeCodes.lifetime.seconds / 60) minutes:

        \(origin)/console/#code=\(code)

        """
    }

    private func lines(_ key: String) -> String {
        // The certificate is probably not valid for 127.0.0.1.
        let curl = (usesTLS ? "curl -sSk" : "curl -sS") + " -w '\\n'"
        let url = "\(origin)/v1/apps/\(Self.appText)/installations/demo-phone"
        let authorization = "-H \"Authorization: Bearer $KEY\""
        return #"""

            Ready. The key of the demo app, valid until the next start with --demo:

            export KEY=\#(key)

            Register a phone of the user alice (created, or updated at a later start). Send the same again (unchanged).

            \#(curl) -X PUT \#(url) \
              \#(authorization) -H 'X-User-Id: alice' -H 'Content-Type: application/json' \
              -d '{"token":"80B1C0DE80B1C0DE80B1C0DE80B1C0DE80B1C0DE80B1C0DE80B1C0DE80B1C0DE","provider":"apns",
                   "settings":{"authorizationStatus":"authorized","alertSetting":"enabled","soundSetting":"enabled"},
                   "device":{"installId":"demo-phone","deviceModel":"iPhone17,3","systemName":"iOS",
                             "systemVersion":"26.5","appVersion":"1.4.0","locale":"de-DE",
                             "languages":["de-DE","en-US"],"timeZoneId":"Europe/Berlin","timeZoneOffset":3600}}'

            Read the installation:

            \#(curl) \#(url) \
              \#(authorization)

            """#
    }
}
