import EmbeddedPostgres
import EventLoop
import FleetGenerator
import Foundation
import PostgresClient
import PushRegistry

/// Measures registrations alone, then while other clients contend for locks.
struct NeighbourBenchmark {
    private static let connections = 8
    private static let crowdConnections = 1_000
    private static let erasures = 6
    private static let warmUp = Duration.seconds(1)
    /// The number of installations at the start of the fleet that are contended; all others are the neighbours.
    private static let contendedMax = 1_000
    private static let neighboursMax = 10_000

    private let connectionString: String
    private let database: PostgresConfiguration
    private let binary: Binary
    private let count: Int
    private let seed: UInt64
    private let seconds: Int

    init(_ server: EmbeddedPostgres, _ binary: Binary, count: Int, seed: UInt64, seconds: Int) throws {
        connectionString = server.connectionString
        database = try PostgresConfiguration(connectionString, applicationName: "push-registry-bench")
        self.binary = binary
        self.count = count
        self.seed = seed
        self.seconds = seconds
    }

    func run(
        rounds: Int, writesAccessLog: Bool, log: @escaping @Sendable (String) -> Void
    ) async throws -> NeighbourReport {
        log("loading \(count) installations")
        let fleet = Fleet(
            seed: seed, app: try await App.find(AppID("com.example.bench"), in: database), count: count, asOf: .now,
            lastSeen: .withinSeconds(3_600), links: try TimeZoneLinks())
        var loader = FleetLoader()
        loader.writesHistory = false
        try await loader.load(fleet, into: database)
        let file = FileManager.default.temporaryDirectory.appending(path: "push-registry-bench-\(getpid()).log")
        defer { try? FileManager.default.removeItem(at: file) }
        return try await ServerProcess.with(
            binary, database: connectionString, log: file, writesAccessLog: writesAccessLog
        ) { server in
            let workload = Workload(fleet, server, key: try server.makeKey(of: fleet.app.id))
            var report = NeighbourReport(connections: Self.connections)
            for round in 0..<rounds {
                report.alone.append(try await workload.neighboursP99 { try await pause() })
                for contention in Contention.allCases {
                    let p99 = try await beside(contention, round: round, workload)
                    report.beside[contention, default: []].append(p99)
                    log(String(format: "alone %.2f ms, beside %@ %.2f ms", report.alone[round], contention.title, p99))
                }
            }
            return report
        }
    }

    private func pause() async throws { try await Task.sleep(for: .seconds(seconds)) }

    /// - Returns: the neighbours' 99th percentile in milliseconds.
    private func beside(_ contention: Contention, round: Int, _ workload: Workload) async throws -> Double {
        switch contention {
        case .crowd:
            return try await workload.neighboursP99(
                beside: workload.registrations(of: workload.owned[0]), connections: Self.crowdConnections
            ) { try await pause() }
        case .lockedRow:
            return try await workload.neighboursP99(
                beside: workload.registrations(of: workload.owned[1]), connections: Self.connections
            ) { try await lockRows([workload.owned[1]]) }
        case .erasures:
            let start = 2 + round * Self.erasures
            let users = Array(workload.owned[start..<start + Self.erasures])
            return try await workload.neighboursP99(beside: workload.erasures(of: users), connections: Self.erasures) {
                try await lockRows(users)
            }
        }
    }

    /// Locks the installations' rows for the length of a measurement.
    private func lockRows(_ installations: [FleetInstallation]) async throws {
        let ids = installations.map(\.installID.rawValue)
        try await PostgresSession.withSession(database) { session in
            try session.withTransaction {
                _ = try session.execute(
                    "SELECT FROM installation WHERE install_id = ANY (\(ids)) ORDER BY install_id FOR UPDATE")
                _ = try session.execute("SELECT FROM pg_sleep(\(Double(seconds)))")
            }
        }
    }

    /// The service under load, and the requests for it.
    private struct Workload: Sendable {
        let server: ServerProcess
        /// The contended installations, each with its own user.
        let owned: [FleetInstallation]
        private let writer: RegistrationWriter
        private let neighbours: RequestPool

        init(_ fleet: Fleet, _ server: ServerProcess, key: String) {
            self.server = server
            let writer = RegistrationWriter(app: fleet.app.id, key: key)
            self.writer = writer
            owned = fleet.indices.prefix(contendedMax).map { fleet[$0] }.filter { $0.owner != nil }
            neighbours = RequestPool(
                fleet.indices.dropFirst(contendedMax).prefix(neighboursMax).lazy.map { fleet[$0] }
                    .flatMap { installation in
                        [1, 2].map { writer.request(installation, settings: installation.settings.toggled($0)) }
                    })
        }

        func registrations(of installation: FleetInstallation) -> RequestSequence {
            let requests = [1, 2].map { writer.request(installation, settings: installation.settings.toggled($0)) }
            return RequestSequence(RequestPool(requests), .alternating)
        }

        func erasures(of installations: [FleetInstallation]) -> RequestSequence {
            RequestSequence(RequestPool(installations.compactMap(\.owner).map { writer.erasure(of: $0.userID) }), .once)
        }

        func neighboursP99(during body: () async throws -> Void) async throws -> Double {
            let loop = EventLoop(name: "neighbours")
            defer { loop.stop() }
            let result = try await HTTPLoad(RequestSequence(neighbours, .alternating), on: loop).run(
                port: server.port, connections: connections, warmUp: warmUp, during: body)
            guard result.tally.failures == 0 else {
                throw BenchmarkFailure("\(result.tally.failures) registrations failed")
            }
            return result.tally.percentile(0.99)
        }

        /// The same while other requests are sent, which may be refused.
        func neighboursP99(
            beside sequence: RequestSequence, connections: Int, during body: () async throws -> Void
        ) async throws -> Double {
            let loop = EventLoop(name: "contention")
            defer { loop.stop() }
            var p99 = 0.0
            _ = try await HTTPLoad(sequence, on: loop).run(
                port: server.port, connections: connections, warmUp: .zero
            ) { p99 = try await neighboursP99(during: body) }
            return p99
        }
    }
}
