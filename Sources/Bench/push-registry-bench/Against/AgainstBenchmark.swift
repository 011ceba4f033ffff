import ArgumentParser
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

struct AgainstCommand: BenchmarkCommand {
    static let configuration = CommandConfiguration(
        commandName: "against",
        abstract: "Measure this push-registry against another one, such as the binary of an older commit.",
        discussion: """
            Starts a throw-away PostgreSQL for each of the two binaries, lets each migrate and serve its own database, \
            and registers the same fleet with both over HTTP. Then puts the same load on both in turn, row after row \
            and round after round; in every second round the other binary comes first. The two may have different \
            schemas: this command reads and writes no table.

            Rows: healthz, unchanged, unchangedInOne and unchangedInTwo (by clients that block, which send head and \
            body together or apart), unchangedTyped (with four typed tokens), unchangedHS256 and unchangedES256 (with \
            users' JWTs instead of a key), changed, first, takeover, ownerChange, logout, feedback (calls of 10,000 \
            items that change an installation each, counted in items) and import ("push-registry import" of NDJSON, \
            counted in lines).

            With --citus, this side has a throw-away Citus cluster (a coordinator and two workers), for which the \
            installed PostgreSQL must have the extension; the other binary is this one unless you name it. All nodes \
            share the machine's cores, so the ratios show the cost of the coordinator and of the connections to the \
            workers, and not the gain of more machines.

            CPU is user and system time per request. PostgreSQL's includes its work after the last response, until it \
            is idle. Ratios are this binary to the other one: medians over the rounds.
            """)

    @Argument(help: "The other push-registry binary.")
    var other: String?

    @Flag(help: "Give this side a Citus cluster instead of one PostgreSQL.")
    var citus = false

    @Option(parsing: .upToNextOption, help: "The rows to measure.")
    var rows = ComparedRow.allCases

    @Option(help: "Installations in each database.")
    var count: Int?

    @Option(help: "The most seconds of each measurement.")
    var seconds: Int?

    @Option(help: "Rounds; the medians count.")
    var rounds: Int?

    @Option(help: "HTTP connections.")
    var connections = 64

    @Flag(help: "A short test run: 12,000 installations, one round of 1 second.")
    var quick = false

    @OptionGroup var common: BenchmarkOptions

    private var options: AgainstOptions {
        var options = AgainstOptions(rows: rows, connections: connections, seed: common.seed)
        if quick { (options.count, options.seconds, options.rounds) = (12_000, 1, 1) }
        options.count = count ?? options.count
        options.seconds = seconds ?? options.seconds
        options.rounds = rounds ?? options.rounds
        options.writesAccessLog = common.writesAccessLog
        options.isOnCitus = citus
        return options
    }

    func validate() throws {
        guard citus || other != nil else { throw ValidationError("Name the other binary, or use --citus.") }
        guard options.count >= 1_000 else { throw ValidationError("--count must be 1000 or more.") }
        guard options.seconds > 0, options.rounds > 0, (1...10_000).contains(connections) else {
            throw ValidationError("--seconds and --rounds must be above 0, --connections 1 to 10000.")
        }
    }

    func measure(log: @escaping @Sendable (String) -> Void) async throws -> BenchmarkReport {
        try await AgainstBenchmark(
            options: options, own: try .pushRegistry(common.binary), other: try .pushRegistry(other ?? common.binary),
            log: log
        ).run()
    }
}

/// The rows that are measured on both sides.
enum ComparedRow: String, CaseIterable, ExpressibleByArgument, Sendable {
    case healthz, unchanged, unchangedInOne, unchangedInTwo, unchangedTyped, unchangedHS256, unchangedES256
    case changed, first, takeover, ownerChange, logout, feedback
    case importing = "import"

    /// The same row of a run.
    var plain: RunRow? { RunRow(rawValue: rawValue) }

    var title: String {
        switch self {
        case .unchangedInOne: "unchanged, blocking clients"
        case .unchangedInTwo: "the same, head and body apart"
        case .unchangedTyped: "unchanged, with four typed tokens"
        case .unchangedHS256: "unchanged, with a JWT (HS256)"
        case .unchangedES256: "unchanged, with a JWT (ES256)"
        case .importing: "import, lines of NDJSON"
        default: plain?.title ?? rawValue
        }
    }
}

/// The options of a comparison.
struct AgainstOptions: Sendable {
    /// How long requests are sent before each measurement without being counted. Short, because most rows can change an
    /// installation only once.
    static let warmUp = Duration.milliseconds(250)
    /// The most lines of the file that a round imports.
    static let importedMax = 100_000

    var rows: [ComparedRow]
    var count = 200_000
    var seconds = 5
    var rounds = 4
    var connections: Int
    var seed: UInt64
    var writesAccessLog = true
    /// Whether this side has a Citus cluster.
    var isOnCitus = false

    func wants(_ row: ComparedRow) -> Bool { rows.contains(row) }
}
