import EmbeddedPostgres
import FleetGenerator
import Foundation
import Logging
import PushRegistry
import RegistryTestSupport

/// Puts the same load on two binaries in turn, each with its own PostgreSQL, or the first one with a Citus cluster.
struct AgainstBenchmark {
    private static let app = "com.example.bench"

    let options: AgainstOptions
    let own: Binary
    let other: Binary
    let log: @Sendable (String) -> Void

    func run() async throws -> BenchmarkReport {
        try FileLimit.raise()
        let fleet = Fleet(
            seed: options.seed, app: App(number: AppNumber(1), id: try AppID(Self.app), policy: .standard),
            count: options.count, asOf: .now, lastSeen: .withinSeconds(0), links: try TimeZoneLinks())
        return try await withSide("this", own, onCitus: options.isOnCitus, fleet) { own in
            try await withSide("other", other, onCitus: false, fleet) { other in try await compare(own, other, fleet) }
        }
    }

    private func withSide<Value: Sendable>(
        _ name: String, _ binary: Binary, onCitus: Bool, _ fleet: Fleet, _ body: (ComparedSide) async throws -> Value
    ) async throws -> Value {
        try await withNodes(onCitus: onCitus) { nodes in
            let database = ["PUSH_REGISTRY_DATABASE_URL": nodes[0].connectionString]
            try await binary.run(["migrate"], environment: database)
            if onCitus { try await binary.run(["distribute"], environment: database) }
            try await binary.run(["apps", "create", Self.app], environment: database)
            return try await ServerProcess.with(
                binary, database: nodes[0].connectionString, writesAccessLog: options.writesAccessLog
            ) { server in
                let side = try await ComparedSide.make(name, binary, nodes, server, fleet, options, log: log)
                try await side.fill(fleet)
                return try await body(side)
            }
        }
    }

    /// - Parameter body: receives one PostgreSQL, or the coordinator of a cluster and its workers.
    private func withNodes<Value: Sendable>(
        onCitus: Bool, _ body: ([EmbeddedPostgres]) async throws -> Value
    ) async throws -> Value {
        let quiet = Logger(label: "cluster") { _ in SwiftLogNoOpLogHandler() }
        let settings = RunBenchmark.clusterSettings(RunOptions())
        guard onCitus else {
            return try await ThrowawayCluster.with(settings: settings, logger: quiet) { try await body([$0]) }
        }
        // Three nodes fit into memory.
        let small = settings.merging(["shared_buffers": "256MB"]) { $1 }
        return try await CitusCluster.with(settings: small, logger: quiet) { try await body([$0] + $1) }
    }

    private func compare(_ own: ComparedSide, _ other: ComparedSide, _ fleet: Fleet) async throws -> BenchmarkReport {
        var report = BenchmarkReport(
            options.isOnCitus ? "this binary on Citus against one PostgreSQL" : "this binary against another one")
        for round in 1...options.rounds {
            for row in ComparedRow.allCases where options.wants(row) {
                let isOwnFirst = round % 2 == 1
                let first = try await (isOwnFirst ? own : other).measure(row, round: round, fleet)
                let second = try await (isOwnFirst ? other : own).measure(row, round: round, fleet)
                let (own, other) = isOwnFirst ? (first, second) : (second, first)
                report.add(row.title, own, against: ("the other binary", other))
                log("\(row.title): \(Int(own.perSecond)) a second, the other binary \(Int(other.perSecond))")
            }
        }
        report.note(
            "Medians of \(options.rounds) rounds of at most \(options.seconds) s, both sides in turn; "
                + "\(options.count) installations each, \(options.connections) HTTP connections. CPU is user and "
                + "system time per request, item or line; PostgreSQL's is measured until it is idle. The access log "
                + "was \(options.writesAccessLog ? "on" : "off").")
        report.note(
            "Measured \(Date.now.formatted(.iso8601)) on \(ProcessInfo.processInfo.activeProcessorCount) cores, which "
                + "wrk, the load generator, shares.")
        return report
    }
}
