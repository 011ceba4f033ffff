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
            Loads installations by COPY, exactly as the service would have left them: registering the same body over \
            HTTP answers "unchanged". The database must be migrated ("push-registry migrate", or serve it once); the \
            app is made if it is not there.

            Installation N depends on the seed and N alone. To add to a fleet, run again with the same seed and \
            --from at the number that is next.
            """)

    @Option(help: "The database: a libpq URI or key words.")
    var databaseURL: String

    @Option(help: "The app's identifier.")
    var app = "com.example.mail"

    @Option(help: "How many installations to load.")
    var count = 1_000_000

    @Option(help: "The number of the first installation.")
    var from = 0

    @Option(help: "The same seed gives the same fleet.")
    var seed: UInt64 = 1

    @Option(help: "When the fleet was as it is loaded (RFC 3339). Default: now.")
    var asOf: String?

    @Option(help: "All installations were seen within so many hours. Default: they spread over four months.")
    var seenWithin: Int?

    @Flag(inversion: .prefixedNo, help: "Write each installation's event and settings snapshot.")
    var history = true

    func validate() throws {
        guard count >= 0, from >= 0 else { throw ValidationError("--count and --from are 0 or more.") }
        guard asOf.map({ Timestamp($0) != nil }) ?? true else { throw ValidationError("--as-of is no RFC 3339 time.") }
    }

    func run() async throws {
        let database = try PostgresConfiguration(databaseURL, applicationName: "push-registry-bench")
        let fleet = Fleet(
            seed: seed, app: try await App.find(AppID(app), in: database), count: from + count,
            asOf: asOf.flatMap { Timestamp($0) } ?? .now, silence: seenWithin.map { .seconds($0 * 3_600) } ?? .spread,
            links: try TimeZoneLinks())
        let progress = ProgressLine("installations", of: count)
        var loader = FleetLoader()
        loader.writesHistory = history
        loader.progress = { progress.show($0) }
        try await loader.load(fleet, from..<from + count, into: database)
        progress.finish()
    }
}

extension Timestamp {
    /// Whole seconds: precise enough for "now", and the same in SQL and JSON.
    static var now: Timestamp { Timestamp(microseconds: Int64(Date().timeIntervalSince1970) * 1_000_000) }
}
