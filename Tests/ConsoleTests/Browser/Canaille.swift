import Foundation
import RegistryTestSupport

/// Canaille, an OpenID provider of PyPI, with one client and one person, who is in the group `marketers`. It is used
/// in tests and never shipped.
final class Canaille: @unchecked Sendable {
    static let person = (name: "ada", password: "a word of the tests", displayName: "Ada Lovelace")
    private static let secret = "a secret of the tests"
    /// `make test` unpacks it here.
    private static let packages = Console.packageRoot.appending(path: ".build/canaille").path

    static var isInstalled: Bool { FileManager.default.fileExists(atPath: packages) }

    private let folder: URL
    private let port: UInt16
    private let server = Process()

    private init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "canaille-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        // It must know its port before it listens.
        port = try TestListener().port
    }

    /// Lends a provider that is configured, and does not run yet.
    static func with<Value>(_ body: (Canaille) async throws -> Value) async throws -> Value {
        let canaille = try Canaille()
        defer {
            // A thread of the test has blocked SIGTERM, which its children inherit.
            if canaille.server.isRunning { kill(canaille.server.processIdentifier, SIGKILL) }
            try? FileManager.default.removeItem(at: canaille.folder)
        }
        return try await body(canaille)
    }

    /// Another site than 127.0.0.1, where the console is.
    var host: String { "localhost:\(port)" }
    var issuer: String { "http://\(host)" }

    /// The settings of a service that trusts it.
    var environment: [String: String] {
        [
            "PUSH_REGISTRY_OIDC_ISSUER": issuer, "PUSH_REGISTRY_OIDC_CLIENT_ID": "push-registry",
            "PUSH_REGISTRY_OIDC_CLIENT_SECRET": Self.secret,
            "PUSH_REGISTRY_OIDC_SCOPES": "openid profile email groups",
        ]
    }

    /// Starts it.
    ///
    /// - Parameter origin: of the console, to which it leads browsers back.
    func start(for origin: String) async throws {
        let key = folder.appending(path: "key.pem").path
        guard system("openssl genrsa -out '\(key)' 2048 2> /dev/null") == 0 else {
            throw CanailleFailed(what: "openssl")
        }
        let settings = """
            SECRET_KEY = "of the tests"
            SERVER_NAME = "\(host)"
            PREFERRED_URL_SCHEME = "http"
            [CANAILLE_SQL]
            DATABASE_URI = "sqlite:///\(folder.path)/database"
            PASSWORD_SCHEMES = "plaintext"
            [CANAILLE_OIDC]
            ACTIVE_JWKS = ['''\(try String(contentsOfFile: key, encoding: .utf8))''']
            """
        try Data(settings.utf8).write(to: folder.appending(path: "settings.toml"))
        let client = "push-registry"
        for arguments in [
            ["db", "upgrade"],
            [
                "create", "user", "--quiet", "--user-name", Self.person.name, "--password", Self.person.password,
                "--family-name", "Lovelace", "--formatted-name", Self.person.displayName,
            ],
            ["create", "group", "--quiet", "--display-name", "marketers", "--members", Self.person.name],
            [
                "create", "client", "--quiet", "--client-id", client, "--client-secret", Self.secret,
                "--client-uri", origin, "--redirect-uris", origin + "/console/v1/signed-in",
                "--grant-types", "authorization_code", "--response-types", "code",
                "--scope", "openid profile email groups", "--token-endpoint-auth-method", "client_secret_basic",
                "--id-token-signed-response-alg", "RS256",
            ],
            ["set", "client", client, "--quiet", "--audience", client],
        ] {
            let process = Process()
            try run(process, arguments)
            process.waitUntilExit()
            guard process.terminationStatus == 0 else { throw CanailleFailed(what: arguments.joined(separator: " ")) }
        }
        // Without workers of its own, which would outlive it.
        try run(server, ["run", "--workers", "0", "--bind", "127.0.0.1:\(port)"])
        let http = HTTPClient(port: port)
        let request = HTTPRequest("GET", "/.well-known/openid-configuration", fields: [("Connection", "close")])
        try await eventually("Canaille listens", within: .seconds(60)) {
            (try? await http.response(to: request)) != nil
        }
    }

    private func run(_ process: Process, _ arguments: [String]) throws {
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["python3", "-W", "ignore", Self.packages + "/bin/canaille"] + arguments
        process.environment = ProcessInfo.processInfo.environment.merging([
            "PYTHONPATH": Self.packages, "CANAILLE_CONFIG": folder.appending(path: "settings.toml").path,
        ]) { $1 }
        process.currentDirectoryURL = folder
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
    }
}

/// A command of Canaille failed.
struct CanailleFailed: Error {
    let what: String
}
