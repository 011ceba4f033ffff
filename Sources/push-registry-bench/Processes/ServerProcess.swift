import Foundation
import PushRegistry

/// The product's binary, serving on a port of 127.0.0.1.
struct ServerProcess: Sendable {
    static let adminKey = "benchmark-admin-key-0123456789abcdef"
    private static let readyDeadline = Duration.seconds(60)
    private static let pollPause = Duration.milliseconds(2)

    let port: UInt16
    let usage: ProcessUsage
    /// From the start of the binary until `/readyz` responded with 200.
    let secondsUntilReady: Double

    /// Starts a server on the database, lends it once it is ready, and stops it.
    ///
    /// - Parameters:
    ///   - log: the file for its log.
    ///   - writesAccessLog: whether it logs each request, as it does by default.
    ///   - more: further variables of its environment.
    static func with<Value: Sendable>(
        _ binary: Binary, database: String, log: URL, writesAccessLog: Bool = true,
        environment more: [String: String] = [:], _ body: (ServerProcess) async throws -> Value
    ) async throws -> Value {
        let port = try Loopback.freePort()
        let start = ContinuousClock.now
        return try await binary.with(
            ["serve"], environment: environment(port: port, database: database, writesAccessLog).merging(more) { $1 },
            log: log
        ) { processID in
            let usage = ProcessUsage(processID: processID)
            try await waitUntilReady(usage, port: port, log: log)
            return try await body(
                ServerProcess(
                    port: port, usage: usage, secondsUntilReady: (ContinuousClock.now - start) / .seconds(1)))
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
        while (try? Loopback.exchange("GET", "/readyz", port: port).status) != 200 {
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
    func makeKey(of app: AppID, roles: [String] = ["service"]) throws -> String {
        struct Created: Decodable { let key: String }
        let names = roles.map { "\"\($0)\"" }.joined(separator: ",")
        let response = try Loopback.exchange(
            "POST", "/v1/apps/\(app)/keys", port: port, key: Self.adminKey,
            body: #"{"name":"benchmark","roles":[\#(names)]}"#)
        guard response.status == 201 else {
            throw BenchmarkFailure("no key was created: \(response.status) \(response.body)")
        }
        return try JSONDecoder().decode(Created.self, from: Data(response.body.utf8)).key
    }
}

/// Why a benchmark has no figures.
struct BenchmarkFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
