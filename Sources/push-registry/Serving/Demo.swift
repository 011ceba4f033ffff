import EventLoop
import HTTPServer
import Logging
import PushRegistry
import RegistryAPI
import RegistryStore

/// A demo app with a key, and curl commands to try the service.
struct Demo {
    static let appText = "com.example.demo"
    private static let keyName = "demo"

    private let database: Database
    private let server: HTTPServer
    private let usesTLS: Bool
    private let logger: Logger

    init(_ database: Database, _ server: HTTPServer, usesTLS: Bool, logger: Logger) {
        self.database = database
        self.server = server
        self.usesTLS = usesTLS
        self.logger = logger
    }

    /// Creates the app if it is missing, and a new key. The key of an earlier demo is revoked: its secret is unknown.
    func prepare() async throws {
        let id = try Self.appText.asAppID()
        let key = try await database.withDirectory(logger: logger) { directory in
            let app = try await app(id, in: directory)
            for old in try await directory.current().keys(of: app.number) where old.name == Self.keyName {
                _ = try await directory.revokeKey(old.id, of: app.number)
            }
            let new = NewKey(of: app, name: Self.keyName, roles: [.service, .sender, .marketing])
            try await directory.add(new.key)
            return new
        }
        show(lines(key.text))
    }

    private func app(_ id: AppID, in directory: PostgresAppDirectory) async throws -> App {
        if let app = try await directory.current().apps[id] { return app }
        return try await directory.put(id, policy: .standard).app
    }

    private func lines(_ key: String) -> String {
        // The certificate is probably not valid for 127.0.0.1.
        let curl = usesTLS ? "curl -sSk" : "curl -sS"
        let url =
            "\(usesTLS ? "https" : "http")://127.0.0.1:\(server.port)/v1/apps/\(Self.appText)/installations/demo-phone"
        let authorization = "-H \"Authorization: Bearer $KEY\""
        let body = """
            {"token":"80B1C0DE80B1C0DE80B1C0DE80B1C0DE80B1C0DE80B1C0DE80B1C0DE80B1C0DE","provider":"apns",\
            "settings":{"authorizationStatus":"authorized","alertSetting":"enabled","soundSetting":"enabled"},\
            "device":{"installId":"demo-phone","deviceModel":"iPhone17,3","systemName":"iOS","systemVersion":"26.5",\
            "appVersion":"1.4.0","locale":"de-DE","languages":["de-DE","en-US"],"timeZoneId":"Europe/Berlin",\
            "timeZoneOffset":3600}}
            """
        let headers = "\(authorization) -H 'X-User-Id: alice' -H 'Content-Type: application/json'"
        let put = "\(curl) -X PUT '\(url)' \(headers) -d '\(body)'"
        return """

            Ready. The key of the demo app, valid until the next start with --demo:

            export KEY=\(key)

            Register a token (created), register it again (unchanged), and read the installation:

            \(put)

            \(put)

            \(curl) '\(url)' \(authorization)

            """
    }
}
