import FleetGenerator
import Foundation
import PostgresClient
import PushRegistry
import RegistryJobs
import RegistryStore

/// Measures the selected rows, both sides in turn and round after round, so that other work of the machine affects both
/// sides.
struct RowBenchmark {
    let options: RunOptions
    let fleet: Fleet
    let scripts: PgBenchScript
    let database: String
    let superuser: PostgresConfiguration
    let postgres: ProcessUsage
    let binary: Binary
    let log: @Sendable (String) -> Void

    func measure(_ report: inout BenchmarkReport) async throws {
        let empty = report
        report = try await ServerProcess.with(
            binary, database: database, writesAccessLog: options.writesAccessLog
        ) { server in
            var report = empty
            let key = try await server.makeKey(of: fleet.app.id)
            if options.wants(.topics) {
                try await binary.run(
                    ["topics", "set", fleet.app.id.rawValue, RowRequests.topic, "--name", "Topic", "--default", "out"],
                    environment: ["PUSH_REGISTRY_DATABASE_URL": database])
            }
            let pools = RowRequests(fleet, key: key, installationsMax: options.poolMax)
            for round in 1...options.rounds { try await measure(round, server, pools, &report) }
            return report
        }
    }

    private func measure(
        _ round: Int, _ server: ServerProcess, _ pools: RowRequests, _ report: inout BenchmarkReport
    ) async throws {
        var sides: [RunRow.Other: Measurement] = [:]
        for row in RunRow.allCases where options.rows.contains(where: { $0 == row || $0.needs(row) }) {
            if row.other == .upserts, sides[.upserts] == nil { sides[.upserts] = try await bench(scripts.upsert) }
            if row.other == .inserts { sides[.inserts] = try await bench(scripts.insert) }
            guard let load = pools.load(of: row, round: round, of: options.rounds, seconds: options.seconds) else {
                continue
            }
            let own = try await row == .feedback ? loadFeedback(server, load) : self.load(server, load)
            log("\(row.title): \(Int(own.perSecond)) a second")
            if let other = RunRow.Other(rawValue: row.rawValue) { sides[other] = own }
            guard options.wants(row) else { continue }
            let compared = row.other.flatMap { other in sides[other].map { (other.title, $0) } }
            report.add(row.title, own, against: compared, row.target)
        }
    }

    private func bench(_ script: String) async throws -> Measurement {
        try await checkpoint()
        let result = Measurement(
            try await PgBench(database: database, postgres: postgres).run(script, seconds: options.seconds))
        log("pgbench: \(Int(result.perSecond)) a second")
        return result
    }

    private func load(_ server: ServerProcess, _ load: RowRequests.Load) async throws -> Measurement {
        try await checkpoint()
        let readCPU = { try CPUReading(service: server.usage, postgres: postgres) }
        return try await Wrk(port: server.port, connections: options.connections).measure(
            load.requests, expecting: load.expected, warmUp: .seconds(RunOptions.warmUpSeconds),
            seconds: options.seconds, before: readCPU, after: readCPU)
    }

    private func loadFeedback(_ server: ServerProcess, _ load: RowRequests.Load) async throws -> Measurement {
        try await checkpoint()
        let wrk = Wrk(port: server.port, connections: RowRequests.feedbackConnections)
        let before = try CPUReading(service: server.usage, postgres: postgres)
        let result = try await wrk.run(
            load.requests, expecting: load.expected, seconds: RunOptions.feedbackSecondsMax)
        let cpu = try CPUReading(service: server.usage, postgres: postgres) - before
        return Measurement(result, cpu)
    }

    /// Both sides start with all pages written, and without roll-up changes from another row.
    private func checkpoint() async throws {
        try await PostgresSession.withSession(superuser) { session in
            _ = try RollUpFold.runAll(in: session)
            try session.run(script: "CHECKPOINT")
        }
    }
}
