import Foundation
import PushRegistry
import RegistryTestSupport

/// The product's binary, serving on a port of 127.0.0.1.
struct ServerProcess: Sendable {
    static let adminKey = "benchmark-admin-key-0123456789abcdef"
    private static let readyDeadline = Duration.seconds(60)
    private static let pollPause = Duration.milliseconds(2)

    let port: UInt16
    let usage: ProcessUsage

    /// Starts a server on the database, lends it once it is ready, and stops it.
    ///
    /// - Parameters:
    ///   - writesAccessLog: whether it logs each request, as it does by default.
    ///   - more: further variables of its environment.
    static func with<Value: Sendable>(
        _ binary: Binary, database: String, writesAccessLog: Bool = true,
        environment more: [String: String] = [:], _ body: (ServerProcess) async throws -> Value
    ) async throws -> Value {
        let port = try TestListener().port
        let log = FileManager.default.temporaryDirectory.appending(path: "push-registry-bench-\(port).log")
        defer { try? FileManager.default.removeItem(at: log) }
        return try await binary.with(
            ["serve"], environment: environment(port: port, database: database, writesAccessLog).merging(more) { $1 },
            log: log
        ) { processID in
            let usage = ProcessUsage(processID: processID)
            try await waitUntilReady(usage, port: port, log: log)
            return try await body(ServerProcess(port: port, usage: usage))
        }
    }

    private static func environment(port: UInt16, database: String, _ writesAccessLog: Bool) -> [String: String] {
        [
            "PUSH_REGISTRY_DATABASE_URL": database, "PUSH_REGISTRY_ADMIN_KEY": adminKey,
            "PUSH_REGISTRY_LISTEN": "127.0.0.1:\(port)",
            "PUSH_REGISTRY_LOG_LEVEL": writesAccessLog ? "info" : "warning",
        ]
    }

    private static func waitUntilReady(_ usage: ProcessUsage, port: UInt16, log: URL) async throws {
        let deadline = ContinuousClock.now + readyDeadline
        while (try? await TestConnection(port: port).response(to: HTTPRequest("GET", "/readyz")).status) != 200 {
            guard usage.isRunning, ContinuousClock.now < deadline else {
                let output = (try? String(contentsOf: log, encoding: .utf8)) ?? ""
                throw BenchmarkFailure("push-registry serve did not become ready: \(output)")
            }
            try await Task.sleep(for: pollPause)
        }
    }
}

extension ServerProcess {
    /// Creates a key of the app.
    func makeKey(of app: AppID, roles: [String] = ["service"]) async throws -> String {
        let names = roles.map { "\"\($0)\"" }.joined(separator: ",")
        let response = try await send(
            "POST", "/v1/apps/\(app)/keys", key: Self.adminKey, body: #"{"name":"benchmark","roles":[\#(names)]}"#)
        guard response.status == 201, let key = response.json["key"].string else {
            throw BenchmarkFailure("no key was created: \(response.status) \(response.text)")
        }
        return key
    }

    /// Sends one request on a new connection.
    func send(_ method: String, _ path: String, key: String, body: String) async throws -> HTTPResponse {
        let fields = [("Authorization", "Bearer \(key)"), ("Content-Type", "application/json")]
        return try await TestConnection(port: port).response(
            to: HTTPRequest(method, path, fields: fields, body: Array(body.utf8)))
    }
}

/// Why a benchmark has no figures.
struct BenchmarkFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
