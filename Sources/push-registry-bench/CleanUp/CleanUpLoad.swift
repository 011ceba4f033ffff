import EventLoop
import FleetGenerator
import PushRegistry

/// Registrations that go on while the night job runs: over a few connections, each of which sends its next when it has
/// the last answer. One in twenty changes something.
struct CleanUpLoad {
    static let connections = 8
    private static let warmUp = Duration.seconds(2)
    /// Installations whose requests are made beforehand.
    private static let unchangedMax = 9_000
    private static let changedMax = 500

    private let port: UInt16
    private let pool: RequestPool

    /// - Parameter isAwake: whether an installation is none of those that the job has to do with.
    init(_ fleet: Fleet, _ server: ServerProcess, where isAwake: @escaping (InstallID) -> Bool) throws {
        port = server.port
        let writer = RegistrationWriter(app: fleet.app.id, key: try server.makeKey(of: fleet.app.id))
        // The expiry of a session, which this benchmark took from the rows, would be a change.
        let awake = fleet.indices.lazy.map { fleet[$0] }
            .filter { isAwake($0.installID) && $0.owner?.session?.expiresAt == nil }
            .prefix(Self.unchangedMax + Self.changedMax)
        pool = RequestPool(
            Array(awake).enumerated().flatMap { number, installation in
                number < Self.changedMax
                    ? [1, 2].map { writer.request(installation, settings: installation.settings.toggled($0)) }
                    : [writer.request(installation)]
            })
    }

    /// - Returns: what one of a hundred took or more while `body` ran, in milliseconds.
    func p99(during body: () async throws -> Void) async throws -> Double {
        let loop = EventLoop(name: "load")
        defer { loop.stop() }
        let load = HTTPLoad(RequestSequence(pool, .random), on: loop)
        let result = try await load.run(
            port: port, connections: Self.connections, warmUp: Self.warmUp, during: body)
        guard result.tally.failures == 0 else {
            throw BenchmarkFailure("\(result.tally.failures) registrations failed")
        }
        return result.tally.percentile(0.99)
    }
}
