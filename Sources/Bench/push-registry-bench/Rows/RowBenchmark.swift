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

    func measure() async throws -> RunReport {
        var report = RunReport(options: options)
        if options.wants(.start) { report.secondsUntilReady = try await measureStart() }
        try await withServer { server in
            let key = try await server.makeKey(of: fleet.app.id)
            if options.wants(.topics) {
                try await binary.run(
                    ["topics", "set", fleet.app.id.rawValue, RowRequests.topic, "--name", "Topic", "--default", "out"],
                    environment: ["PUSH_REGISTRY_DATABASE_URL": database])
            }
            let pools = RowRequests(fleet, key: key, installationsMax: options.poolMax)
            if options.wants(.idle) {
                report.idleMegabytes = try await IdleConnections(count: options.idleConnections)
                    .measure(port: server.port, server.usage)
            }
            for round in 1...options.rounds { try await measure(round, server, pools, &report) }
        }
        return report
    }

    /// The median of as many starts as there are rounds.
    private func measureStart() async throws -> Double {
        var seconds: [Double] = []
        for _ in 1...options.rounds { seconds.append(try await withServer { $0.secondsUntilReady }) }
        return seconds.sorted()[seconds.count / 2]
    }

    private func withServer<Value: Sendable>(_ body: (ServerProcess) async throws -> Value) async throws -> Value {
        let log = FileManager.default.temporaryDirectory.appending(path: "push-registry-bench-\(getpid()).log")
        defer { try? FileManager.default.removeItem(at: log) }
        return try await ServerProcess.with(
            binary, database: database, log: log, writesAccessLog: options.writesAccessLog, body)
    }

    private func measure(_ round: Int, _ server: ServerProcess, _ pools: RowRequests, _ report: inout RunReport)
        async throws
    {
        if options.wants(.healthz) {
            report.add(try await load(server, nil, expecting: .noError, name: "healthz"), to: .healthz)
        }
        try await measureRegistrations(round, server, pools, &report)
        if options.wants(.takeover) {
            let takeovers = pools.takeovers(round: round, of: options.rounds)
            report.add(try await load(server, takeovers, expecting: .created), to: .takeover)
        }
        if options.wants(.ownerChange) {
            let changes = pools.ownerChanges(round: round, of: options.rounds)
            report.add(try await load(server, changes, expecting: .updated), to: .ownerChange)
        }
        if options.wants(.logout) {
            let logouts = pools.logouts(round: round, of: options.rounds)
            report.add(try await load(server, logouts, expecting: .loggedOut), to: .logout)
        }
        if options.wants(.topics) {
            let patches = pools.topics(round: round, of: options.rounds)
            report.add(try await load(server, patches, expecting: .noError, name: "topics"), to: .topics)
        }
        if options.wants(.post) {
            let posts = pools.posts(round: round, of: options.rounds)
            report.add(try await load(server, posts, expecting: .posted), to: .post)
        }
        if options.wants(.fetch) {
            report.add(try await load(server, pools.fetches, expecting: .nothingMissed), to: .fetch)
        }
        if options.wants(.feedback) || options.wants(.feedbackAgain) {
            let calls = pools.feedback(round: round, of: options.rounds)
            report.add(try await loadFeedback(server, calls, expecting: ["suspect", "unregistered"]), to: .feedback)
            calls.rewind()
            report.add(try await loadFeedback(server, calls, expecting: ["ignored"]), to: .feedbackAgain)
        }
    }

    private func measureRegistrations(
        _ round: Int, _ server: ServerProcess, _ pools: RowRequests, _ report: inout RunReport
    ) async throws {
        if options.wants(.unchanged) || options.wants(.changed) {
            report.addUpserts(try await bench(scripts.upsert, "pgbench upserts"))
        }
        if options.wants(.unchanged) || options.rows.contains(where: \.isComparedToUnchanged) {
            report.add(try await load(server, pools.unchanged, expecting: .unchanged), to: .unchanged)
        }
        if options.wants(.changed) || options.rows.contains(where: \.isComparedToChanged) {
            report.add(try await load(server, pools.changed, expecting: .updated), to: .changed)
        }
        if options.wants(.first) {
            report.addInserts(try await bench(scripts.insert, "pgbench inserts"))
            let requests = pools.first(round: round, seconds: options.seconds + RunOptions.warmUpSeconds)
            report.add(try await load(server, requests, expecting: .created), to: .first)
        }
    }

    private func bench(_ script: String, _ what: String) async throws -> Measurement {
        try await checkpoint()
        let bench = PgBench(database: database, postgres: postgres)
        let result = Measurement(try await bench.run(script, seconds: options.seconds))
        log("\(what): \(Int(result.perSecond)) a second")
        return result
    }

    private func load(
        _ server: ServerProcess, _ requests: RequestFile?, expecting expected: Wrk.Expectation, name: String? = nil
    ) async throws -> Measurement {
        try await checkpoint()
        let readCPU = { try CPUReading(service: server.usage, postgres: postgres) }
        let measurement = try await Wrk(port: server.port, connections: options.connections).measure(
            requests, expecting: expected, warmUp: .seconds(RunOptions.warmUpSeconds), seconds: options.seconds,
            before: readCPU, after: readCPU)
        log("\(name ?? "\(expected)"): \(Int(measurement.perSecond)) a second")
        return measurement
    }

    private func loadFeedback(
        _ server: ServerProcess, _ calls: RequestFile, expecting words: [String]
    ) async throws -> Measurement {
        try await checkpoint()
        let wrk = Wrk(port: server.port, connections: RowRequests.feedbackConnections)
        let before = try CPUReading(service: server.usage, postgres: postgres)
        let result = try await wrk.run(calls, expecting: .counts, seconds: RunOptions.feedbackSecondsMax)
        let cpu = try CPUReading(service: server.usage, postgres: postgres) - before
        let measurement = Measurement(result, cpu, expectingItems: words)
        log("feedback \(words[0]): \(Int(measurement.perSecond)) items a second")
        return measurement
    }

    /// Both sides start with all pages written, and without roll-up changes from another row.
    private func checkpoint() async throws {
        try await PostgresSession.withSession(superuser) { session in
            _ = try RollUpFold.runAll(in: session)
            try session.run(script: "CHECKPOINT")
        }
    }
}
