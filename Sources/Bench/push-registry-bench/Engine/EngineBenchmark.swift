import FleetGenerator
import Foundation
import PushRegistry

/// Measures the HTTP engine alone: compared with Hummingbird 2, and TLS compared with plain, in turn and round after
/// round.
struct EngineBenchmark {
    /// Longer runs are not more accurate: a CPU tick is 10 ms.
    private static let secondsMax = 4
    private static let cpuRatioMax = 0.4
    private static let tlsRatioMin = 0.65
    private static let idleMegabytesMax = 120.0
    private static let tlsMegabytesMax = 400.0
    /// Above this load average other processes take the cores that the servers and the load need.
    private static let loadAverageMax = 1.0
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

    func run(_ report: inout BenchmarkReport) async throws {
        var averages = [0.0]
        getloadavg(&averages, 1)
        if averages[0] > Self.loadAverageMax {
            report.note("The machine was busy (load average \(averages[0])): measure the engine when it is idle.")
        }
        try FileLimit.raise()
        let hummingbird = try await hummingbird()
        let post = try registrations()
        let empty = report
        report = try await withServers(hummingbird) { servers in
            var report = empty
            try await measureMemory(servers, &report)
            for round in 1...options.rounds {
                log("engine, round \(round)")
                try await compare(servers, &report, "GET /healthz", cpu: .ratioMax(Self.cpuRatioMax)) {
                    try await load($0, nil)
                }
                try await compare(servers, &report, "POST of a registration") { try await load($0, post) }
                try await compare(servers, &report, "new connections") {
                    try await NewConnections(server: $0).measure(seconds: seconds)
                }
            }
            return report
        }
        report.note(
            "The engine alone has no database and no logs; Hummingbird 2 has the same routes. Servers and load share "
                + "this machine's cores, and the load's one thread pays for TLS as the server does: if it is the "
                + "bottleneck, compare CPU and not rates."
                + (hummingbird == nil ? " Hummingbird was not measured: use --with-hummingbird." : ""))
    }

    /// One round of a load on all sides, compared with Hummingbird, and TLS with plain.
    private func compare(
        _ servers: [EngineServer], _ report: inout BenchmarkReport, _ title: String, cpu target: Figure.Target = .none,
        _ measure: (EngineServer) async throws -> Measurement
    ) async throws {
        var runs: [EngineSide: Measurement] = [:]
        for server in servers { runs[server.side] = try await measure(server) }
        guard let plain = runs[.plain], let tls = runs[.tls] else { return }
        let hummingbird = runs[.hummingbird].map { ("Hummingbird", $0) }
        if let cpu = plain.serviceMicroseconds {
            report.add(
                "engine, \(title): CPU against Hummingbird", cpu, "µs",
                against: hummingbird.flatMap { other in other.1.serviceMicroseconds.map { (other.0, $0) } }, target)
        }
        report.add("engine, \(title)", plain, against: hummingbird)
        report.add("engine, \(title) over TLS", tls, against: ("plain", plain), .ratioMin(Self.tlsRatioMin))
    }

    private func measureMemory(_ servers: [EngineServer], _ report: inout BenchmarkReport) async throws {
        var megabytes: [EngineSide: Double] = [:]
        for server in servers { megabytes[server.side] = try await idle(server) }
        let what = "engine, memory with \(options.idleConnections) idle"
        if let plain = megabytes[.plain], let tls = megabytes[.tls] {
            report.add(
                "\(what) connections", plain, "MB", against: megabytes[.hummingbird].map { ("Hummingbird", $0) },
                .valueMax(Self.idleMegabytesMax))
            report.add(
                "\(what) TLS connections", tls, "MB", against: ("plain", plain), .valueMax(Self.tlsMegabytesMax))
        }
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
    private func load(_ server: EngineServer, _ requests: RequestFile?) async throws -> Measurement {
        let wrk = Wrk(port: server.port, connections: options.connections, scheme: server.tls == nil ? "http" : "https")
        try await wrk.warmUp(requests, for: .seconds(RunOptions.warmUpSeconds))
        let before = try server.usage.cpuSeconds()
        let result = try await wrk.run(requests, seconds: seconds)
        return Measurement(result, service: try server.usage.cpuSeconds() - before)
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
