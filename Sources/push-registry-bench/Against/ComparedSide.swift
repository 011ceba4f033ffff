import EmbeddedPostgres
import EventLoop
import FleetGenerator
import Foundation
import PostgresClient
import PushRegistry
import StrictJSON

/// One of two binaries that are compared: its service, its PostgreSQL and its requests.
struct ComparedSide: Sendable {
    /// PostgreSQL is quiet when it uses less CPU time than this share of a core for as long as `quietWindow`.
    private static let quietShare = 0.05
    private static let quietWindow = Duration.milliseconds(200)
    /// PostgreSQL that is not quiet by then (autovacuum at work) is taken as it is.
    private static let quietDeadline = Duration.seconds(20)
    /// Fleet numbers of imported installations begin here, far beyond those of first registrations.
    private static let importedStart = 2_000_000_000
    /// For all of the fleet to register, on a slow machine too.
    private static let fillDeadline = Duration.seconds(1_800)

    fileprivate let name: String
    fileprivate let binary: Binary
    fileprivate let connectionString: String
    fileprivate let superuser: PostgresConfiguration
    fileprivate let server: ServerProcess
    fileprivate let postgres: ProcessUsage
    fileprivate let key: String
    fileprivate let pools: Pools
    fileprivate let options: AgainstOptions
    fileprivate let log: @Sendable (String) -> Void

    /// - Parameter fleet: what the side's database is going to hold; nothing of it is there yet.
    static func make(
        _ name: String, _ binary: Binary, _ cluster: EmbeddedPostgres, _ server: ServerProcess, _ fleet: Fleet,
        _ options: AgainstOptions, log: @escaping @Sendable (String) -> Void
    ) async throws -> ComparedSide {
        let superuser = try PostgresConfiguration(cluster.superuserConnectionString)
        let postmaster = try await PostgresSession.withSession(superuser) { session in
            try ProcessUsage(processID: session.execute("SELECT pg_backend_pid()")[0].decode(0)).parent()
        }
        let key = try server.makeKey(of: fleet.app.id)
        return ComparedSide(
            name: name, binary: binary, connectionString: cluster.connectionString, superuser: superuser,
            server: server, postgres: ProcessUsage(processID: postmaster), key: key,
            pools: Pools(fleet, key: key, installationsMax: fleet.count, rows: options.rows.compactMap(\.loadRow)),
            options: options, log: log)
    }

    /// Registers the whole fleet, so that rows of known installations find theirs.
    func fill(_ fleet: Fleet) async throws {
        log("registering \(fleet.count) installations with \(name)")
        let writer = RegistrationWriter(app: fleet.app.id, key: key)
        let requests = RequestPool(fleet.indices.lazy.map { writer.request(fleet[$0]) })
        let outcome = try await run(RequestSequence(requests, .once), warmUp: .zero, measured: Self.fillDeadline)
        guard outcome.tally.count == fleet.count, outcome.tally.failures == 0 else {
            throw BenchmarkFailure(
                "\(name): only \(outcome.tally.count - outcome.tally.failures) of \(fleet.count) could register")
        }
    }

    func measure(_ row: ComparedRow, round: Int, _ fleet: Fleet) async throws -> Measurement {
        try await settle()
        let rounds = options.rounds
        return switch row {
        case .healthz: try await load(pools.healthz, expecting: .none)
        case .unchanged: try await load(pools.unchanged, expecting: .unchanged)
        case .changed: try await load(pools.changed, expecting: .updated)
        case .first:
            try await load(pools.first(round: round, seconds: options.seconds + 1), expecting: .created)
        case .takeover: try await load(pools.takeovers(round: round, of: rounds), expecting: .created)
        case .ownerChange: try await load(pools.ownerChanges(round: round, of: rounds), expecting: .updated)
        case .logout: try await load(pools.logouts(round: round, of: rounds), expecting: .loggedOut)
        case .feedback: try await judge(pools.feedback(round: round, of: rounds))
        case .importing: try await importLines(round: round, fleet)
        }
    }
}

// MARK: - One measurement

extension ComparedSide {
    private func load(
        _ sequence: RequestSequence, expecting verdict: ResponseScanner.Verdict
    ) async throws -> Measurement {
        let loop = EventLoop(name: "load")
        defer { loop.stop() }
        let outcome = try await HTTPLoad(sequence, on: loop).run(
            port: server.port, connections: options.connections, warmUp: AgainstOptions.warmUp,
            measured: .seconds(options.seconds)
        ) { try CPUReading(service: server.usage, postgres: postgres) }
        try await waitUntilQuiet()
        // What the stretch's requests cost PostgreSQL later is theirs too; of the service it is next to nothing.
        let after = CPUReading(service: outcome.after.service, postgres: try postgres.cpuSecondsWithChildren())
        return Measurement(outcome.result, after - outcome.before, expected: verdict)
    }

    private func run(
        _ sequence: RequestSequence, warmUp: Duration, measured: Duration
    ) async throws -> HTTPLoad.Result {
        let loop = EventLoop(name: "load")
        defer { loop.stop() }
        return try await HTTPLoad(sequence, on: loop).run(
            port: server.port, connections: options.connections, warmUp: warmUp, measured: measured
        ) {}.result
    }

    private func judge(_ calls: [[UInt8]]) async throws -> Measurement {
        let before = try CPUReading(service: server.usage, postgres: postgres)
        let outcome = try await FeedbackLoad(port: server.port, calls: calls).run()
        try await waitUntilQuiet()
        let after = try CPUReading(service: server.usage, postgres: postgres)
        return Measurement(outcome, after - before, expected: ["suspect", "unregistered"])
    }

    private func importLines(round: Int, _ fleet: Fleet) async throws -> Measurement {
        let count = min(AgainstOptions.importedMax, fleet.count)
        let file = FileManager.default.temporaryDirectory.appending(
            path: "push-registry-bench-\(name)-\(getpid()).ndjson")
        defer { try? FileManager.default.removeItem(at: file) }
        let start = Self.importedStart + round * count
        let lines = (start..<start + count).lazy.flatMap { fleet[$0].importLine }
        try Data(lines).write(to: file)
        let before = try importReading()
        let begin = ContinuousClock.now
        try await binary.run(
            ["import", file.path, "--app", fleet.app.id.rawValue],
            environment: ["PUSH_REGISTRY_DATABASE_URL": connectionString])
        let seconds = (ContinuousClock.now - begin) / .seconds(1)
        try await waitUntilQuiet()
        return Measurement(count: count, seconds: seconds, try importReading() - before)
    }

    /// The command's own CPU time is that of this process's children that have ended: the services still run.
    private func importReading() throws -> CPUReading {
        CPUReading(
            service: try ProcessUsage(processID: getpid()).endedChildrenCPUSeconds(),
            postgres: try postgres.cpuSecondsWithChildren())
    }

    /// Each measurement begins with all pages written out and PostgreSQL at rest.
    private func settle() async throws {
        try await waitUntilQuiet()
        try await PostgresSession.withSession(superuser) { try $0.run(script: "CHECKPOINT") }
    }

    private func waitUntilQuiet() async throws {
        let deadline = ContinuousClock.now + Self.quietDeadline
        var used = try postgres.cpuSecondsWithChildren()
        while ContinuousClock.now < deadline {
            try await Task.sleep(for: Self.quietWindow)
            let now = try postgres.cpuSecondsWithChildren()
            guard now - used > Self.quietShare * (Self.quietWindow / .seconds(1)) else { return }
            used = now
        }
    }
}

extension ComparedRow {
    /// The row whose requests this one sends; nil if it sends none.
    fileprivate var loadRow: Row? { Row(rawValue: rawValue) }
}

extension FleetInstallation {
    /// A line of a file to import, in the form of an export.
    fileprivate var importLine: [UInt8] {
        var writer = JSONWriter(capacity: 1_024)
        writer.object { writer in
            writer.member("installId", installID.rawValue)
            writer.member("provider", token.provider.rawValue)
            writer.member("token", token.text)
            if let keys {
                writer.name("keys")
                writer.object { writer in
                    writer.member("p256dh", keys.p256dh)
                    writer.member("auth", keys.auth)
                }
            }
            if let owner { writer.member("userId", owner.userID.rawValue) }
            writer.member("locale", device.locale.text)
            writer.member("timeZone", device.timeZoneID)
            writer.member("systemName", device.systemName)
            writer.member("osVersion", device.systemVersion)
            if let version = device.appVersion { writer.member("appVersion", version) }
            writer.member("deviceModel", device.deviceModel)
            writer.member("authorizationStatus", settings.authorizationStatus.rawValue)
        }
        return writer.bytes + [UInt8(ascii: "\n")]
    }
}
