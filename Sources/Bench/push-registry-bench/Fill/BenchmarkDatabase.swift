import EmbeddedPostgres
import FleetGenerator
import PostgresClient
import PushRegistry
import RegistryJobs

/// A throw-away database with a fleet, for one benchmark.
struct BenchmarkDatabase: Sendable {
    static let app = "com.example.bench"

    let connectionString: String
    let session: PostgresConfiguration
    let superuser: PostgresConfiguration
    let binary: Binary
    let count: Int
    private let seed: UInt64

    /// - Parameter count: of the fleet.
    init(_ server: EmbeddedPostgres, _ binary: Binary, count: Int, seed: UInt64) throws {
        connectionString = server.connectionString
        session = try PostgresConfiguration(connectionString, applicationName: "push-registry-bench")
        superuser = try PostgresConfiguration(server.superuserConnectionString)
        (self.binary, self.count, self.seed) = (binary, count, seed)
    }

    var environment: [String: String] { ["PUSH_REGISTRY_DATABASE_URL": connectionString] }

    /// Migrates, and loads the fleet. All of its installations were seen within the last hour.
    func load(log: (String) -> Void) async throws -> Fleet {
        try await binary.run(["migrate"], environment: environment)
        log("loading \(count) installations")
        let fleet = Fleet(
            seed: seed, app: try await App.find(AppID(Self.app), in: session), count: count, asOf: .now,
            lastSeen: .withinSeconds(3_600), links: try TimeZoneLinks())
        var loader = FleetLoader()
        loader.writesHistory = false
        try await loader.load(fleet, into: session)
        // VACUUM cannot run in a transaction with other statements.
        try await run("VACUUM ANALYZE")
        return fleet
    }

    func run(_ script: String) async throws {
        try await PostgresSession.withSession(session) { try $0.run(script: script) }
    }
}
