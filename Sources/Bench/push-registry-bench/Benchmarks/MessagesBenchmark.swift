import ArgumentParser
import EmbeddedPostgres
import EventLoop
import FleetGenerator
import Foundation
import Logging
import PostgresClient
import PushRegistry
import Receipts
import RegistryStore
import RegistryTestSupport

/// Sends receipts, and exports with and without them.
struct MessagesBenchmark {
    private static let app = BenchmarkDatabase.app
    private static let connections = 64
    private static let receiptsPerCall = 10
    private static let receiptsPerSecondMin = 30_000.0
    private static let exportRatioMin = 0.5
    /// More than a service can count in a second.
    private static let callsPerSecondMax = 10_000

    let database: BenchmarkDatabase

    func run(rounds: Int, seconds: Int, log: @escaping @Sendable (String) -> Void) async throws -> BenchmarkReport {
        _ = try await database.load(log: log)
        return try await ServerProcess.with(
            database.binary, database: database.connectionString, environment: ["PUSH_REGISTRY_RECEIPT_RATE": "0"]
        ) { server in
            try await measure(server, rounds: rounds, seconds: seconds, log)
        }
    }

    private func measure(
        _ server: ServerProcess, rounds: Int, seconds: Int, _ log: @escaping @Sendable (String) -> Void
    ) async throws -> BenchmarkReport {
        let key = try await server.makeKey(of: AppID(Self.app), roles: ["sender"])
        var report = BenchmarkReport("messages to \(database.count) installations")
        for round in 1...rounds {
            let path = "/v1/apps/\(Self.app)/messages/round-\(round)"
            let put = try await server.send("PUT", path, key: key, body: "{}")
            guard put.status == 201 else { throw BenchmarkFailure("no message was created: \(put.text)") }
            let requests = try await calls("round-\(round)", atMost: seconds * Self.callsPerSecondMax)
            let first = try await send(requests, to: server, seconds)
            requests.rewind()
            let again = try await send(requests, to: server, seconds)
            report.add("receipts, ten a call", first, .valueMin(Self.receiptsPerSecondMin))
            report.add("receipts that are duplicates", again, against: ("first", first), .ratioMin(1))
            log("\(Int(first.perSecond)), again \(Int(again.perSecond)) receipts/s")
            let plain = ExportClient(port: server.port, app: Self.app, key: key)
            let withReceipts = ExportClient(port: server.port, app: Self.app, key: key, message: "round-\(round)")
            let (rows, completed) = (try await rowsPerSecond(plain), try await rowsPerSecond(withReceipts))
            report.add(
                "export with receipts", completed, "rows/s", against: ("without", rows),
                .ratioMin(Self.exportRatioMin))
            log("\(Int(rows)) rows/s, with receipts \(Int(completed))")
        }
        return report
    }

    private func rowsPerSecond(_ client: ExportClient) async throws -> Double {
        let start = ContinuousClock.now
        let rows = try await client.run("ndjson")
        return Double(rows) / ((ContinuousClock.now - start) / .seconds(1))
    }

    /// Calls with the receipts of different installations, in no order.
    private func calls(_ name: String, atMost calls: Int) async throws -> RequestFile {
        let (app, message) = try await found(name)
        guard let sealer = ReceiptSealer(message, of: app, ReceiptKeys()) else {
            throw BenchmarkFailure("the app has no signing key")
        }
        let limit = Int64(calls * Self.receiptsPerCall)
        let rows = try await PostgresSession.withSession(database.session) { session in
            try session.execute(
                """
                SELECT install_id, cell FROM installation WHERE app_id = \(app.number.rawValue)
                ORDER BY md5(install_id) LIMIT \(limit)
                """
            ).map { row in (try InstallID(row.decode(0)), try row.decode(1, as: Int64.self)) }
        }
        return RequestFile(stride(from: 0, to: rows.count, by: Self.receiptsPerCall), .once) { start, _ in
            let items = try rows[start...].prefix(Self.receiptsPerCall).map { installID, cell in
                #"{"receipt":"\#(try sealer.seal(installID, in: cell))","event":"delivered"}"#
            }
            return Self.request(#"{"receipts":[\#(items.joined(separator: ","))]}"#)
        }
    }

    private static func request(_ body: String) -> [UInt8] {
        Array(
            """
            POST /v1/receipts HTTP/1.1\r
            Host: localhost\r
            Content-Length: \(body.utf8.count)\r
            \r
            \(body)
            """.utf8)
    }

    /// The app with its keys, and the message.
    private func found(_ name: String) async throws -> (App, Message) {
        let loop = EventLoop(name: "directory")
        defer { loop.stop() }
        let postgres = PostgresClient(
            database.session, on: loop, limits: .init(connectionsMin: 0, connectionsMax: 1),
            logger: Logger(label: "directory") { _ in SwiftLogNoOpLogHandler() })
        let directory = PostgresAppDirectory(postgres: postgres)
        async let _ = postgres.run()
        async let _ = directory.run()
        let messages = PostgresMessageStore(LoopResources(postgres: postgres))
        guard let app = try await directory.current().apps[AppID(Self.app)],
            let message = try await messages.message(try MessageName(name), of: app.number)
        else { throw BenchmarkFailure("the app or the message is missing") }
        return (app, message)
    }

    /// Sends each request once.
    private func send(
        _ requests: RequestFile, to server: ServerProcess, _ seconds: Int
    ) async throws -> Measurement {
        let wrk = Wrk(port: server.port, connections: Self.connections)
        try await wrk.warmUp(requests, for: .milliseconds(200))
        let before = try server.usage.cpuSeconds()
        let result = try await wrk.run(requests, seconds: seconds)
        let cpuSeconds = try server.usage.cpuSeconds() - before
        guard result.failures == 0 else { throw BenchmarkFailure("\(result.failures) calls failed") }
        return Measurement(result, service: cpuSeconds, itemsPerRequest: Self.receiptsPerCall)
    }
}

struct MessagesBenchmarkCommand: BenchmarkCommand {
    static let configuration = CommandConfiguration(
        commandName: "messages",
        abstract: "Measure receipts of messages, and an export with receipts against one without.",
        discussion: """
            Starts a throw-away PostgreSQL with a fleet, and the service. It sends receipts, ten in each call, over 64 \
            connections, until the time is over; then the same receipts again. Then it exports the fleet without and \
            with receipts in turn.
            """)

    @Option(help: "The fleet's size.")
    var count = 500_000

    @Option(help: "Rounds; the medians count.")
    var rounds = 3

    @Option(help: "Seconds of receipts in each round, at most.")
    var seconds = 10

    @OptionGroup var common: BenchmarkOptions

    func validate() throws {
        guard count >= 1_000, rounds > 0, seconds > 0 else {
            throw ValidationError("--count must be 1000 or more, --rounds and --seconds above 0.")
        }
    }

    func measure(log: @escaping @Sendable (String) -> Void) async throws -> BenchmarkReport {
        try await common.withCluster(AudienceBenchmark.clusterSettings) { server, binary in
            let database = try BenchmarkDatabase(server, binary, count: count, seed: common.seed)
            return try await MessagesBenchmark(database: database).run(rounds: rounds, seconds: seconds, log: log)
        }
    }
}
