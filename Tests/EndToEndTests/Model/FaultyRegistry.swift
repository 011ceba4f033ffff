import Basics
import EmbeddedPostgres
import Foundation
import Logging
import PostgresClient
import RegistryTestSupport
import Testing

/// A registry whose parts can be killed, stopped and cut while it serves. The service reaches PostgreSQL through a
/// proxy, unless there is a standby.
final class FaultyRegistry: Sendable {
    let registry: Registry
    /// For commands, beside the proxy.
    let databaseURL: String
    private let standby: EmbeddedPostgres?
    private let movableClock: MovableClock?
    private let time = Locked(ModelClock())
    private let proxy: CuttingProxy?
    /// The service of the moment, and the socket that it inherits from the one before.
    private let service: Locked<RunningService>
    private let socket: TestListener
    /// Taken by faults that replace a process.
    private let turn = TestSemaphore(count: 1)
    private let stopped = Locked(Set<pid_t>())

    /// What the plans need.
    enum Servers {
        /// One that serves other tests later.
        case shared
        /// A primary and its synchronous standby.
        case standby
        case movableClock
    }

    static func with<Value: Sendable>(
        _ servers: Servers, _ body: (FaultyRegistry) async throws -> Value
    ) async throws -> Value {
        let quiet = Logger(label: "cluster") { _ in SwiftLogNoOpLogHandler() }
        switch servers {
        case .shared:
            return try await ThrowawayCluster.withDatabase(from: .migrated, logger: quiet) { cluster in
                try await with(cluster, nil, nil, cluster.connectionString, body)
            }
        case .standby:
            return try await withReplicatedRegistry { registry, standby in
                registry.service.command.send(SIGKILL)
                return try await with(
                    registry.cluster, standby, nil, registry.cluster.connectionString(withFailoverTo: standby), body)
            }
        case .movableClock:
            try #require(MovableClock.isInstalled, "libfaketime is not installed: make packages")
            return try await ThrowawayCluster.with(environment: MovableClock.environment, logger: quiet) { cluster in
                try await migrateDatabase(cluster.connectionString)
                return try await with(
                    cluster, nil, MovableClock(in: cluster.directory), cluster.connectionString, body)
            }
        }
    }

    private static func with<Value: Sendable>(
        _ cluster: EmbeddedPostgres, _ standby: EmbeddedPostgres?, _ clock: MovableClock?, _ url: String,
        _ body: (FaultyRegistry) async throws -> Value
    ) async throws -> Value {
        let proxy = standby == nil ? try CuttingProxy(url) : nil
        defer { proxy?.stop() }
        let socket = try TestListener()
        let service = try await RunningService.start(
            databaseURL: proxy?.connectionString ?? url, socket: socket)
        // One session: after a failure, one statement tells whether the next will work.
        return try await TestDatabase.with(url, sessionsMax: 1) { database in
            let registry = FaultyRegistry(
                Registry(cluster: cluster, service: service, database: database), url, standby, clock, proxy, socket)
            defer { registry.service.withLock { $0 }.command.send(SIGKILL) }
            return try await body(registry)
        }
    }

    private init(
        _ registry: Registry, _ url: String, _ standby: EmbeddedPostgres?, _ movableClock: MovableClock?,
        _ proxy: CuttingProxy?, _ socket: TestListener
    ) {
        (self.registry, databaseURL, self.standby, self.proxy, self.socket) = (registry, url, standby, proxy, socket)
        self.movableClock = movableClock
        service = Locked(registry.service)
    }

    // MARK: Faults

    /// A command beside the calls.
    struct Job: Sendable {
        /// What it may have changed.
        var steps: [ModelStep] = []
        /// The status and the end of the log, if the status says that something was wrong.
        let complaint: String?
    }

    /// Lets faults happen at their times, and returns when the parts run again.
    func inflict(_ faults: [TimedFault], on app: RegistryApp) async throws -> [Job] {
        try await race(faults.count) { [self] index in
            try await Task.sleep(for: .milliseconds(faults[index].milliseconds))
            return try await inflict(faults[index].fault, on: app)
        }.compactMap { $0 }
    }

    private func inflict(_ fault: Fault, on app: RegistryApp) async throws -> Job? {
        switch fault {
        case .killService: try await inTurn { try await replaceService() }
        case .stopService(let milliseconds):
            let command = service.withLock { $0 }.command
            command.send(SIGSTOP)
            try await Task.sleep(for: .milliseconds(milliseconds))
            command.send(SIGCONT)
        case .endSessions: await endSessions("true")
        case .endSession(let pick): if let id = await session(pick) { await endSessions("pid = \(id)") }
        case .stopSession(let pick, let milliseconds):
            guard let id = await session(pick) else { break }
            stopped.withLock { _ = $0.insert(id) }
            kill(id, SIGSTOP)
            try await Task.sleep(for: .milliseconds(milliseconds))
            stopped.withLock { _ = $0.remove(id) }
            kill(id, SIGCONT)
        case .cutSession(let pick): proxy?.cut(pick)
        case .stallSession(let pick, let milliseconds):
            proxy?.stall(pick)
            try await Task.sleep(for: .milliseconds(milliseconds))
            proxy?.resume(isReversed: pick % 2 == 0)
        case .killPostgres:
            try await inTurn {
                continueSessions()
                await registry.cluster.kill()
                try await registry.cluster.restart()
            }
        case .failOver:
            guard let standby else { break }
            await registry.cluster.kill()
            try await TestDatabase.with(standby.superuserConnectionString, sessionsMax: 1) { database in
                _ = try await database.rows("SELECT pg_promote()")
            }
        case .stepClock(let hours): try await stepClock(hours: hours)
        case .rebuildRollUp: return try await run(["rebuild-rollup"])
        case .cleanUp: return try await cleanUp()
        case .importFile: return try await importFile(into: app)
        }
        return nil
    }

    /// PostgreSQL's clock in the present round.
    var clock: ModelClock { time.withLock { $0 } }

    /// A round begins.
    func forgetClock() {
        time.withLock { $0.aheads = Array($0.aheads.suffix(1)) }
    }

    /// No app of the plans before is used any more.
    func resetClock() async throws {
        guard let movableClock else { return }
        let hours = time.withLock { time in
            defer { time = ModelClock(aheads: []) }
            return time.hours
        }
        try movableClock.move(by: .seconds(-3_600 * hours))
        try await measureClock()
    }

    /// Not to before the registry began: its tables have no partitions of that time.
    private func stepClock(hours: Int64) async throws {
        guard let movableClock else { return }
        let hours = clock.hours + hours < 0 ? -hours : hours
        try movableClock.move(by: .seconds(3_600 * hours))
        time.withLock { time in
            let shown = time.times(from: Wall.microseconds, to: Wall.microseconds).map(\.upperBound).max() ?? 0
            (time.latest, time.hours) = (max(time.latest, shown), time.hours + hours)
        }
        try await measureClock()
    }

    /// PostgreSQL's clock shows each time between the start of a query and its end.
    private func measureClock() async throws {
        var (low, high) = (Int64.min, Int64.max)
        for _ in 0..<20 {
            let start = Wall.microseconds
            let time = try await registry.database.column(
                "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint", as: Int64.self)[0]
            (low, high) = (max(low, time - Wall.microseconds), min(high, time - start))
        }
        time.withLock { [low, high] in $0.aheads.append(min(low, high)...max(low, high)) }
    }

    private func inTurn(_ body: () async throws -> Void) async throws {
        await turn.wait()
        let result: Result<Void, any Error>
        do { result = .success(try await body()) } catch { result = .failure(error) }
        await turn.signal()
        try result.get()
    }

    /// - Parameter wait: runs between the end of the old process and the start of the new one.
    private func replaceService(_ wait: () async throws -> Void = {}) async throws {
        let old = service.withLock { $0 }.command
        old.send(SIGKILL)
        _ = try await old.exitStatus()
        try await wait()
        // It does not start without PostgreSQL.
        try await eventually("the service starts") {
            guard
                let new = try? await RunningService.start(
                    databaseURL: proxy?.connectionString ?? databaseURL, socket: socket)
            else { return false }
            service.withLock { $0 = new }
            return true
        }
    }

    private func continueSessions() {
        for id in stopped.withLock({ $0 }) { kill(id, SIGCONT) }
        stopped.withLock { $0 = [] }
    }

    private static let sessions: PostgresSQL = "application_name LIKE 'push-registry%'"

    /// Another fault may be in the way.
    private func endSessions(_ condition: PostgresSQL) async {
        _ = try? await registry.database.rows(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE \(sql: Self.sessions) AND \(sql: condition)")
    }

    private func session(_ pick: Int) async -> Int32? {
        let ids = try? await registry.database.column(
            "SELECT pid FROM pg_stat_activity WHERE \(sql: Self.sessions) ORDER BY pid", as: Int32.self)
        guard let ids, !ids.isEmpty else { return nil }
        return ids[pick % ids.count]
    }

    // MARK: Commands

    private func cleanUp() async throws -> Job {
        let sent = Wall.microseconds
        var job = try await run(["cleanup", "--max-share", "100%"])
        job.steps = ModelApp.phones.map {
            ModelStep(call: .expire($0), sent: sent, received: .max, response: nil)
        }
        return job
    }

    /// Runs a command; another one may be in progress (4).
    private func run(_ arguments: [String], in directory: String? = nil) async throws -> Job {
        let result = try await RegistryCommand.run(
            arguments, environment: ["PUSH_REGISTRY_DATABASE_URL": databaseURL], in: directory)
        let complaint = "\(arguments.joined(separator: " ")) ended with \(result.status): \(result.log.suffix(1_000))"
        return Job(complaint: [0, 4].contains(result.status) ? nil : complaint)
    }

    /// Adds installations that no call names.
    private func importFile(into app: RegistryApp) async throws -> Job {
        let folder = FileManager.default.temporaryDirectory.appending(path: "import-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let lines = (0..<50).map { #"{"installId":"imported-\#($0)","provider":"fcm","token":"imported-\#($0)"}"# }
        try Data(lines.joined(separator: "\n").utf8).write(to: folder.appending(path: "fleet.ndjson"))
        return try await run(["import", "fleet.ndjson", "--app", app.id], in: folder.path)
    }

    // MARK: Verification

    /// Ends all faults, and waits until nothing of a call can go on any more and the service is ready.
    ///
    /// - Parameter isUncertain: whether there are calls without a response. Then the service is killed, and its
    ///   sessions end when they have executed what they received.
    func settle(isUncertain: Bool) async throws {
        continueSessions()
        proxy?.resume()
        try await eventually("PostgreSQL works") { (try? await registry.database.count("SELECT 1")) == 1 }
        if isUncertain {
            try await replaceService {
                try await eventually("the sessions of the service end") {
                    try await registry.database.count(
                        "SELECT count(*) FROM pg_stat_activity WHERE \(sql: Self.sessions)") == 0
                }
            }
        }
        registry.client.closeIdle()
        try await eventually("the service is ready") {
            (try? await registry.send("GET", "/readyz").status) == 200
        }
    }

    /// - Returns: what `verify` found.
    func verify() async throws -> String? {
        let result = try await RegistryCommand.run(
            ["verify"], environment: ["PUSH_REGISTRY_DATABASE_URL": databaseURL])
        return result.status == 0 ? nil : "verify ended with \(result.status):\n\(result.output)\(result.log)"
    }
}
