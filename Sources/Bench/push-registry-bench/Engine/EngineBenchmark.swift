import FleetGenerator
import Foundation
import PushRegistry

/// Measures the HTTP engine alone: compared with Hummingbird 2, and TLS compared with plain, in turn and round after
/// round.
struct EngineBenchmark {
    /// Longer runs are not more accurate: a CPU tick is 10 ms.
    private static let secondsMax = 4
    /// The number of different registrations.
    private static let bodies = 1_000

    let options: RunOptions
    /// Builds Hummingbird's server if it is missing. Without this option it is measured only if it was built earlier.
    let buildsHummingbird: Bool
    let log: @Sendable (String) -> Void

    init(_ options: RunOptions, buildsHummingbird: Bool, log: @escaping @Sendable (String) -> Void) {
        (self.options, self.buildsHummingbird, self.log) = (options, buildsHummingbird, log)
    }

    private var seconds: Int { min(options.seconds, Self.secondsMax) }

    func run() async throws -> EngineReport {
        try FileLimit.raise()
        let hummingbird = try await hummingbird()
        let post = try registrations()
        return try await withServers(hummingbird) { servers in
            var report = EngineReport(options: options, seconds: seconds)
            for server in servers { report.megabytes[server.side] = try await idle(server) }
            for round in 1...options.rounds {
                log("engine, round \(round)")
                for server in servers { try await measure(server, post, &report) }
            }
            return report
        }
    }

    private func measure(_ server: EngineServer, _ post: RequestFile, _ report: inout EngineReport) async throws {
        report.add(try await load(server, nil), to: .get, server.side)
        report.add(try await load(server, post), to: .post, server.side)
        report.add(try await NewConnections(server: server).measure(seconds: seconds), to: .connection, server.side)
    }

    private func hummingbird() async throws -> Binary? {
        guard buildsHummingbird, HummingbirdPackage.built == nil else { return HummingbirdPackage.built }
        log("building Hummingbird; this takes minutes")
        return try await HummingbirdPackage.build()
    }

    private func withServers<Value: Sendable>(
        _ hummingbird: Binary?, _ body: ([EngineServer]) async throws -> Value
    ) async throws -> Value {
        let client = try TLSClient()
        let own = ["engine-server", "--port"]
        return try await SelfSignedCertificate.with { files in
            let tls = ["engine-server", "--certificate", files.certificate, "--key", files.key, "--port"]
            return try await EngineServer.with(.plain, .own, own) { plain in
                try await EngineServer.with(.tls, .own, tls, tls: client) { tls in
                    guard let hummingbird else { return try await body([plain, tls]) }
                    return try await EngineServer.with(.hummingbird, hummingbird, []) {
                        try await body([plain, $0, tls])
                    }
                }
            }
        }
    }

    private func idle(_ server: EngineServer) async throws -> Double {
        log("engine: \(options.idleConnections) idle connections, \(server.side)")
        return try await IdleConnections(count: options.idleConnections, tls: server.tls)
            .measure(port: server.port, server.usage)
    }

    /// - Parameter requests: nil for `GET /healthz`.
    private func load(_ server: EngineServer, _ requests: RequestFile?) async throws -> EngineMeasurement {
        let wrk = Wrk(port: server.port, connections: options.connections, scheme: server.tls == nil ? "http" : "https")
        try await wrk.warmUp(requests, for: .seconds(RunOptions.warmUpSeconds))
        let before = try server.usage.cpuSeconds()
        let result = try await wrk.run(requests, seconds: seconds)
        var measurement = EngineMeasurement(
            count: result.count, seconds: result.seconds, cpuSeconds: try server.usage.cpuSeconds() - before)
        measurement.failures = result.failures
        return measurement
    }

    /// The registration bodies of the fleet's installations.
    private func registrations() throws -> RequestFile {
        let app = App(number: AppNumber(1), id: try AppID("com.example.bench"), policy: .standard)
        let fleet = Fleet(seed: options.seed, app: app, count: Self.bodies, asOf: .now, links: try TimeZoneLinks())
        return RequestFile(fleet.indices, .cyclic) { number, _ in
            let body = fleet[number].body()
            return Array(
                """
                POST /echo HTTP/1.1\r
                Host: localhost\r
                Content-Type: application/json\r
                Content-Length: \(body.count)\r
                \r\n
                """.utf8) + body
        }
    }
}
