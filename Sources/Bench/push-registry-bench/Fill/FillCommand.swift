import ArgumentParser
import FleetGenerator
import Foundation
import PostgresClient
import PushRegistry

struct FillCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fill",
        abstract: "Fill a database with realistic installations.",
        discussion: """
            Loads installations by COPY, exactly as the service would have stored them: registering the same body over \
            HTTP returns "unchanged". The database must be migrated ("push-registry migrate", or serve it once); the \
            app is created if it does not exist.

            Installation N depends only on the seed and N. To add to a fleet, run again with the same seed and the \
            next number in --from.
            """)

    @Option(help: "The database: a libpq URI or keywords.")
    var databaseURL: String

    @Option(help: "The app's identifier.")
    var app = "com.example.mail"

    @Option(help: "How many installations to load.")
    var count = 1_000_000

    @Option(help: "The number of the first installation.")
    var from = 0

    @Option(help: "The fleet's seed: the same seed gives the same fleet.")
    var seed: UInt64 = 1

    @Option(help: "The time of the fleet's state (RFC 3339). Default: now.")
    var asOf: String?

    @Option(help: "The most hours since an installation was last seen. Default: up to four months.")
    var seenWithin: Int?

    @Flag(inversion: .prefixedNo, help: "Write each installation's event and settings snapshot.")
    var history = true

    func validate() throws {
        guard count >= 0, from >= 0 else { throw ValidationError("--count and --from must be 0 or more.") }
        guard asOf.map({ Timestamp($0) != nil }) ?? true else {
            throw ValidationError("--as-of must be an RFC 3339 time.")
        }
    }

    func run() async throws {
        let database = try PostgresConfiguration(databaseURL, applicationName: "push-registry-bench")
        let fleet = Fleet(
            seed: seed, app: try await App.find(AppID(app), in: database), count: from + count,
            asOf: asOf.flatMap { Timestamp($0) } ?? .now,
            lastSeen: seenWithin.map { .withinSeconds($0 * 3_600) } ?? .fourMonths,
            links: try TimeZoneLinks())
        var loader = FleetLoader()
        loader.writesHistory = history
        let start = ContinuousClock.now
        loader.progress = { [count] done in
            guard done % 100_000 == 0 || done == count else { return }
            let seconds = (ContinuousClock.now - start) / .seconds(1)
            print("\(done) of \(count) installations, \(Int(Double(done) / max(seconds, 0.001))) a second")
        }
        try await loader.load(fleet, from..<from + count, into: database)
    }
}

extension Timestamp {
    /// Whole seconds: precise enough, and the same in SQL and JSON.
    static var now: Timestamp { Timestamp(microseconds: Int64(Date().timeIntervalSince1970) * 1_000_000) }
}
