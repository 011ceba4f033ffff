import EmbeddedPostgres
import FleetGenerator
import Foundation
import Logging
import PostgresClient
import PushRegistry
import RegistryTestSupport

/// Puts the same load on one PostgreSQL and on a Citus cluster, in turn.
struct CitusBenchmark {
    private static let shards = 32
    /// On each node, so that three of them fit into memory.
    private static let sharedBuffers = "256MB"

    let options: CitusOptions
    let binary: Binary
    let log: @Sendable (String) -> Void

    private var settings: [String: String] {
        RunBenchmark.clusterSettings(RunOptions()).merging(
            ["shared_buffers": Self.sharedBuffers, "max_connections": "200"]) { $1 }
    }

    func run() async throws -> CitusReport {
        try FileLimit.raise()
        let quiet = Logger(label: "cluster") { _ in SwiftLogNoOpLogHandler() }
        return try await ThrowawayCluster.with(settings: settings, logger: quiet) { alone in
            try await CitusCluster.with(settings: settings, logger: quiet) { coordinator, workers in
                try await prepare(alone)
                try await prepare(coordinator)
                try await binary.run(
                    ["distribute", "--shards", "\(Self.shards)"],
                    environment: ["PUSH_REGISTRY_DATABASE_URL": coordinator.connectionString])
                return try await withSide("alone", alone, [alone]) { alone in
                    try await withSide("Citus", coordinator, [coordinator] + workers) { citus in
                        try await compare(citus, alone)
                    }
                }
            }
        }
    }

    private func prepare(_ server: EmbeddedPostgres) async throws {
        let database = ["PUSH_REGISTRY_DATABASE_URL": server.connectionString]
        try await binary.run(["migrate"], environment: database)
        for count in options.apps {
            for name in CitusFleets.names(count) {
                try await binary.run(["apps", "create", name], environment: database)
            }
        }
    }

    private func withSide<Value: Sendable>(
        _ name: String, _ server: EmbeddedPostgres, _ nodes: [EmbeddedPostgres],
        _ body: (CitusSide) async throws -> Value
    ) async throws -> Value {
        let output = FileManager.default.temporaryDirectory.appending(
            path: "push-registry-bench-\(name)-\(getpid()).log")
        defer { try? FileManager.default.removeItem(at: output) }
        return try await ServerProcess.with(
            binary, database: server.connectionString, log: output, writesAccessLog: options.writesAccessLog
        ) { process in
            var postmasters: [ProcessUsage] = []
            for node in nodes { postmasters.append(try await postmaster(of: node)) }
            var fleets: [CitusFleets] = []
            for apps in options.apps {
                fleets.append(try await CitusFleets(apps, options) { try await process.makeKey(of: $0) })
            }
            let side = CitusSide(
                name: name, server: process, postmasters: postmasters, fleets: fleets, options: options)
            log("registering \(fleets.count) fleets of \(options.count) installations: \(name)")
            try await side.fill()
            // Without statistics, plans differ from run to run until autovacuum has come by.
            for node in nodes { try await analyze(node) }
            return try await body(side)
        }
    }

    private func analyze(_ node: EmbeddedPostgres) async throws {
        let superuser = try PostgresConfiguration(node.superuserConnectionString)
        try await PostgresSession.withSession(superuser) { session in _ = try session.execute("ANALYZE") }
    }

    private func postmaster(of node: EmbeddedPostgres) async throws -> ProcessUsage {
        let superuser = try PostgresConfiguration(node.superuserConnectionString)
        let processID = try await PostgresSession.withSession(superuser) { session in
            try ProcessUsage(processID: session.execute("SELECT pg_backend_pid()")[0].decode(0)).parent()
        }
        return ProcessUsage(processID: processID)
    }

    private func compare(_ citus: CitusSide, _ alone: CitusSide) async throws -> CitusReport {
        var report = CitusReport(options: options)
        for round in 1...options.rounds {
            for (index, apps) in options.apps.enumerated() {
                for row in CitusRow.allCases {
                    let isCitusFirst = round % 2 == 0
                    let first = try await (isCitusFirst ? citus : alone).measure(row, index, round: round)
                    let second = try await (isCitusFirst ? alone : citus).measure(row, index, round: round)
                    let pair = isCitusFirst ? (citus: first, alone: second) : (citus: second, alone: first)
                    report.add(row, apps: apps, citus: pair.citus, alone: pair.alone)
                    let rates = "\(Int(pair.citus.perSecond)) a second, alone \(Int(pair.alone.perSecond))"
                    log("\(CitusReport.title(row, apps)): \(rates)")
                }
            }
        }
        return report
    }
}
