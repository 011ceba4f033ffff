import EmbeddedPostgres
import FleetGenerator
import Foundation
import PostgresClient
import PushRegistry
import RegistryTestSupport
import StrictJSON

/// One of two compared binaries: its service, its PostgreSQL and its requests.
struct ComparedSide: Sendable {
    /// PostgreSQL is idle when it uses less CPU time than this share of a core during `idleWindow`.
    private static let idleShare = 0.05
    private static let idleWindow = Duration.milliseconds(200)
    /// A PostgreSQL that is not idle by then (because of autovacuum) is measured anyway.
    private static let idleDeadline = Duration.seconds(20)
    /// The fleet number of the first imported installation, far beyond those of first registrations.
    private static let importedStart = 2_000_000_000
    /// Long enough for the whole fleet to register on a slow machine.
    private static let fillSecondsMax = 1_800

    fileprivate let name: String
    fileprivate let binary: Binary
    fileprivate let connectionString: String
    /// Of each node of PostgreSQL.
    fileprivate let superusers: [PostgresConfiguration]
    fileprivate let server: ServerProcess
    fileprivate let postmasters: [ProcessUsage]
    fileprivate let key: String
    fileprivate let pools: RowRequests
    /// Of the rows that have installations of their own.
    fileprivate let own: [ComparedRow: RequestFile]
    fileprivate let options: AgainstOptions
    fileprivate let log: @Sendable (String) -> Void

    /// - Parameter fleet: the installations to register; the side's database is still empty.
    static func make(
        _ name: String, _ binary: Binary, _ nodes: [EmbeddedPostgres], _ server: ServerProcess, _ fleet: Fleet,
        _ options: AgainstOptions, log: @escaping @Sendable (String) -> Void
    ) async throws -> ComparedSide {
        let superusers = try nodes.map { try PostgresConfiguration($0.superuserConnectionString) }
        var postmasters: [ProcessUsage] = []
        for superuser in superusers { postmasters.append(try await .ofPostmaster(superuser)) }
        let key = try await server.makeKey(of: fleet.app.id)
        let tokens = AppTokens()
        let patched = try await server.send(
            "PATCH", "/v1/apps/\(fleet.app.id)", key: ServerProcess.adminKey, body: tokens.policy)
        guard patched.status == 200 else { throw BenchmarkFailure("the keys were refused: \(patched.text)") }
        // The row of feedback reports the whole fleet as dead. A version without the breaker refuses the member.
        _ = try await server.send(
            "PATCH", "/v1/apps/\(fleet.app.id)", key: ServerProcess.adminKey, body: #"{"feedbackBreaker":null}"#)
        return ComparedSide(
            name: name, binary: binary, connectionString: nodes[0].connectionString, superusers: superusers,
            server: server, postmasters: postmasters, key: key,
            pools: RowRequests(fleet, key: key, installationsMax: fleet.count),
            own: [
                .unchangedTyped: RowRequests.typed(fleet, key: key),
                .unchangedHS256: RowRequests.signed(fleet, tokens, .hs256),
                .unchangedES256: RowRequests.signed(fleet, tokens, .es256),
            ],
            options: options, log: log)
    }

    /// Registers the whole fleet, because some rows need known installations.
    func fill(_ fleet: Fleet) async throws {
        log("registering \(fleet.count) installations with \(name)")
        let writer = RegistrationWriter(app: fleet.app.id, key: key)
        let requests = RequestFile(fleet.indices, .once) { number, _ in writer.request(fleet[number]) }
        let result = try await wrk.run(requests, expecting: .created, seconds: Self.fillSecondsMax)
        guard result.expected == fleet.count, result.failures == 0 else {
            throw BenchmarkFailure("\(name): only \(result.expected) of \(fleet.count) could register")
        }
        for requests in own.values {
            _ = try await wrk.run(requests, expecting: .created, seconds: 3)
            requests.rewind()
        }
        // Else autovacuum analyzes the new rows within a minute, during the first measurements.
        try await runOnNodes("ANALYZE")
    }

    func measure(_ row: ComparedRow, round: Int, _ fleet: Fleet) async throws -> Measurement {
        try await checkpoint()
        let rounds = options.rounds
        switch row {
        case .unchangedInOne: return try await loadBlocking(fleet, apart: false)
        case .unchangedInTwo: return try await loadBlocking(fleet, apart: true)
        case .importing: return try await importLines(round: round, fleet)
        default:
            let plain = row.plain.flatMap { pools.load(of: $0, round: round, of: rounds, seconds: options.seconds) }
            guard let load = own[row].map({ ($0, .unchanged) }) ?? plain else {
                throw BenchmarkFailure("\(row) has no requests")
            }
            return try await row == .feedback ? loadFeedback(load) : self.load(load)
        }
    }
}

// MARK: - One measurement

extension ComparedSide {
    private var wrk: Wrk { Wrk(port: server.port, connections: options.connections) }

    private func load(_ load: RowRequests.Load) async throws -> Measurement {
        try await wrk.measure(
            load.requests, expecting: load.expected, warmUp: AgainstOptions.warmUp, seconds: options.seconds,
            before: { try reading() },
            after: {
                let service = try server.usage.cpuSeconds()
                try await waitUntilIdle()
                // PostgreSQL's work after the last response belongs to the measurement too; the service does hardly
                // any.
                return CPUReading(service: service, postgres: try postgresSeconds())
            })
    }

    private func loadBlocking(_ fleet: Fleet, apart: Bool) async throws -> Measurement {
        let clients = BlockingClients(
            port: server.port, requests: pools.unchangedRequests(fleet), sendsBodyApart: apart)
        _ = try await clients.run(expecting: "", seconds: AgainstOptions.warmUp / .seconds(1))
        let before = try reading()
        let result = try await clients.run(
            expecting: Wrk.Expectation.unchanged.rawValue, seconds: Double(options.seconds))
        return Measurement(
            count: result.count, seconds: result.seconds,
            try reading() - before, expectedShare: result.expectedShare)
    }

    private func loadFeedback(_ load: RowRequests.Load) async throws -> Measurement {
        let before = try reading()
        let result = try await Wrk(port: server.port, connections: RowRequests.feedbackConnections).run(
            load.requests, expecting: load.expected, seconds: RunOptions.feedbackSecondsMax)
        try await waitUntilIdle()
        let after = try reading()
        return Measurement(result, after - before)
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
        try await waitUntilIdle()
        return Measurement(count: count, seconds: seconds, try importReading() - before)
    }

    /// The import command's CPU time is that of this process's ended children: the services still run.
    private func importReading() throws -> CPUReading {
        CPUReading(
            service: try ProcessUsage(processID: getpid()).endedChildrenCPUSeconds(),
            postgres: try postgresSeconds())
    }

    /// Before each measurement PostgreSQL writes all pages and becomes idle.
    private func checkpoint() async throws {
        try await waitUntilIdle()
        try await runOnNodes("CHECKPOINT")
    }

    private func runOnNodes(_ script: String) async throws {
        for superuser in superusers {
            try await PostgresSession.withSession(superuser) { try $0.run(script: script) }
        }
    }

    private func postgresSeconds() throws -> Double {
        try postmasters.reduce(0) { try $0 + $1.cpuSecondsWithChildren() }
    }

    private func reading() throws -> CPUReading {
        CPUReading(service: try server.usage.cpuSeconds(), postgres: try postgresSeconds())
    }

    private func waitUntilIdle() async throws {
        let deadline = ContinuousClock.now + Self.idleDeadline
        var used = try postgresSeconds()
        while ContinuousClock.now < deadline {
            try await Task.sleep(for: Self.idleWindow)
            let now = try postgresSeconds()
            guard now - used > Self.idleShare * (Self.idleWindow / .seconds(1)) else { return }
            used = now
        }
    }
}

extension FleetInstallation {
    /// A line of an import file, in the format of an export.
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
