import ArgumentParser
import EmbeddedPostgres
import FleetGenerator
import Foundation
import PostgresClient
import PushRegistry

/// Measures registrations alone, then while other clients contend for locks; and `GET /healthz` of a service with one
/// event loop beside large calls.
struct NeighbourBenchmark: Sendable {
    private static let ratioMax = 2.0
    private static let healthMillisecondsMax = 20.0
    private static let connections = 8
    private static let crowdConnections = 1_000
    private static let erasures = 6
    private static let warmUp = Duration.seconds(1)
    /// How much longer than a measurement rows stay locked: wrk's start and end take part of a second.
    private static let lockMarginSeconds = 2
    /// The number of installations at the start of the fleet that are contended; all others are the neighbours.
    private static let contendedMax = 1_000
    private static let neighboursMax = 10_000
    private static let feedbackConnections = 2

    let database: BenchmarkDatabase
    let seconds: Int

    func run(
        rounds: Int, writesAccessLog: Bool, log: @escaping @Sendable (String) -> Void
    ) async throws -> BenchmarkReport {
        let fleet = try await database.load(log: log)
        var report = BenchmarkReport("neighbours")
        try await withWorkload(fleet, writesAccessLog: writesAccessLog) { workload in
            for round in 0..<rounds {
                let alone = try await workload.neighboursP99()
                for contention in Contention.allCases {
                    let p99 = try await beside(contention, round: round, workload)
                    report.add(
                        "registrations' p99 during \(contention.title)", p99, "ms", against: ("alone", alone),
                        .ratioMax(Self.ratioMax))
                    log(String(format: "alone %.2f ms, beside %@ %.2f ms", alone, contention.title, p99))
                }
            }
        }
        try await withWorkload(fleet, writesAccessLog: writesAccessLog, eventLoops: 1) { workload in
            for _ in 0..<rounds {
                let alone = try await workload.healthP99()
                let p99 = try await workload.healthP99(beside: Self.feedbackConnections)
                report.add(
                    "p99 of GET /healthz beside feedback, one event loop", p99, "ms", against: ("alone", alone),
                    .valueMax(Self.healthMillisecondsMax))
                log(String(format: "healthz alone %.2f ms, beside feedback %.2f ms", alone, p99))
            }
        }
        report.note(
            "Medians of \(rounds) rounds. Registrations and GET /healthz use \(Self.connections) connections; a call "
                + "of feedback has up to \(RowRequests.feedbackItems) items. All clients, the service and PostgreSQL "
                + "share the machine's cores.")
        return report
    }

    /// Starts the service, and stops it after `body`.
    ///
    /// - Parameter eventLoops: nil for the service's default, one for each core.
    private func withWorkload(
        _ fleet: Fleet, writesAccessLog: Bool, eventLoops: Int? = nil, _ body: (Workload) async throws -> Void
    ) async throws {
        try await ServerProcess.with(
            database.binary, database: database.connectionString, writesAccessLog: writesAccessLog,
            environment: eventLoops.map { ["PUSH_REGISTRY_EVENT_LOOPS": "\($0)"] } ?? [:]
        ) { server in
            try await body(
                Workload(fleet, server, seconds: seconds, key: try await server.makeKey(of: fleet.app.id)))
        }
    }

    /// - Returns: the neighbours' 99th percentile in milliseconds.
    private func beside(_ contention: Contention, round: Int, _ workload: Workload) async throws -> Double {
        switch contention {
        case .crowd:
            return try await workload.neighboursP99(
                beside: workload.registrations(of: workload.owned[0]), connections: Self.crowdConnections)
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

    /// Locks the installations' rows until a measurement that starts now has ended.
    private func lockRows(_ installations: [FleetInstallation]) async throws {
        let ids = installations.map(\.installID.rawValue)
        try await PostgresSession.withSession(database.session) { session in
            try session.withTransaction {
                _ = try session.execute(
                    "SELECT FROM installation WHERE install_id = ANY (\(ids)) ORDER BY install_id FOR UPDATE")
                _ = try session.execute("SELECT FROM pg_sleep(\(Double(seconds + Self.lockMarginSeconds)))")
            }
        }
    }

    /// The service under load, and the requests for it.
    private struct Workload: Sendable {
        let server: ServerProcess
        /// The contended installations, each with its own user.
        let owned: [FleetInstallation]
        private let writer: RegistrationWriter
        private let neighbours: RequestFile
        private let feedback: RequestFile
        private let seconds: Int

        init(_ fleet: Fleet, _ server: ServerProcess, seconds: Int, key: String) {
            (self.server, self.seconds) = (server, seconds)
            let writer = RegistrationWriter(app: fleet.app.id, key: key)
            self.writer = writer
            owned = fleet.indices.prefix(contendedMax).map { fleet[$0] }.filter { $0.owner != nil }
            neighbours = RequestFile(
                fleet.indices.dropFirst(contendedMax).prefix(neighboursMax), variants: 2, .cyclic
            ) { number, variant in
                writer.request(fleet[number], settings: fleet[number].settings.toggled(1 + variant))
            }
            let reported = fleet.indices.dropFirst(contendedMax + neighboursMax)
            let starts = stride(from: reported.startIndex, to: reported.endIndex, by: RowRequests.feedbackItems)
            feedback = RequestFile(starts, .cyclic) { start, _ in
                writer.feedback(about: reported[start...].prefix(RowRequests.feedbackItems).map { fleet[$0] })
            }
        }

        func registrations(of installation: FleetInstallation) -> RequestFile {
            RequestFile([0], variants: 2, .cyclic) { [writer] _, variant in
                writer.request(installation, settings: installation.settings.toggled(1 + variant))
            }
        }

        func erasures(of installations: [FleetInstallation]) -> RequestFile {
            let users = installations.compactMap(\.owner?.userID)
            return RequestFile(users.indices, .once) { [writer] index, _ in writer.erasure(of: users[index]) }
        }

        /// The 99th percentile of `GET /healthz` in milliseconds.
        ///
        /// - Parameter connections: those that send calls of feedback at the same time.
        func healthP99(beside feedbackConnections: Int = 0) async throws -> Double {
            let wrk = Wrk(port: server.port, connections: connections)
            guard feedbackConnections > 0 else { return try await p99(wrk.run(nil, seconds: seconds)) }
            var p99 = 0.0
            let load = Wrk(port: server.port, connections: feedbackConnections)
            let calls = try await load.run(feedback, expecting: .counts) {
                p99 = try await self.p99(wrk.run(nil, seconds: seconds))
            }
            guard calls.counts.values.reduce(0, +) > 0 else { throw BenchmarkFailure("no feedback was handled") }
            return p99
        }

        private func p99(_ result: Wrk.Result) throws -> Double {
            guard result.failures == 0 else { throw BenchmarkFailure("\(result.failures) requests failed") }
            return result.p99Milliseconds
        }

        func neighboursP99(during body: @escaping @Sendable () async throws -> Void = {}) async throws -> Double {
            let wrk = Wrk(port: server.port, connections: connections)
            try await wrk.warmUp(neighbours, for: warmUp)
            async let contended: Void = body()
            let p99 = try await p99(wrk.run(neighbours, seconds: seconds))
            try await contended
            return p99
        }

        /// The same while other requests are sent, which may be refused.
        func neighboursP99(
            beside requests: RequestFile, connections: Int,
            during body: @escaping @Sendable () async throws -> Void = {}
        ) async throws -> Double {
            var p99 = 0.0
            _ = try await Wrk(port: server.port, connections: connections).run(requests) {
                p99 = try await neighboursP99(during: body)
            }
            return p99
        }
    }
}

/// What contends for locks during the measured registrations.
private enum Contention: CaseIterable {
    /// Clients that register the same installation.
    case crowd
    /// Clients that register an installation whose row another session has locked.
    case lockedRow
    /// Erasures of users whose installations another session has locked.
    case erasures

    var title: String {
        switch self {
        case .crowd: "1,000 clients of one installation"
        case .lockedRow: "a locked installation"
        case .erasures: "six erasures that wait"
        }
    }
}

struct NeighboursCommand: BenchmarkCommand {
    static let configuration = CommandConfiguration(
        commandName: "neighbours",
        abstract: "Measure clients while others contend for locks or send large calls.",
        discussion: """
            Starts a throw-away PostgreSQL, loads a fleet, and sends registrations over a few connections: alone for \
            some seconds, then during each of three contentions in turn: 1,000 clients that register the same \
            installation; clients that register one installation whose row another session has locked; and six \
            erasures of users whose installations are locked. Then sends GET /healthz to a service with one event \
            loop, alone and beside calls of feedback with 10,000 items. Compares the 99th percentiles.
            """)

    @Option(help: "The fleet's size.")
    var count = 100_000

    @Option(help: "Seconds that each measurement lasts.")
    var seconds = 4

    @Option(help: "Rounds; the medians count.")
    var rounds = 3

    @OptionGroup var common: BenchmarkOptions

    func validate() throws {
        guard count >= 20_000, (1...60).contains(seconds), rounds > 0 else {
            throw ValidationError("--count must be 20000 or more, --seconds 1 to 60, --rounds above 0.")
        }
    }

    func measure(log: @escaping @Sendable (String) -> Void) async throws -> BenchmarkReport {
        try await common.withCluster(AudienceBenchmark.clusterSettings) { server, binary in
            let database = try BenchmarkDatabase(server, binary, count: count, seed: common.seed)
            return try await NeighbourBenchmark(database: database, seconds: seconds).run(
                rounds: rounds, writesAccessLog: common.writesAccessLog, log: log)
        }
    }
}
