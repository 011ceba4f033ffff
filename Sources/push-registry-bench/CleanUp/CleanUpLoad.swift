import EventLoop
import FleetGenerator
import PushRegistry

/// Registrations during the clean-up: over a few connections, each of which sends its next request after the last
/// response. One in twenty changes settings.
struct CleanUpLoad {
    static let connections = 8
    private static let warmUp = Duration.seconds(2)
    /// The number of installations whose requests are created in advance.
    private static let unchangedMax = 9_000
    private static let changedMax = 500

    private let port: UInt16
    private let pool: RequestPool

    /// - Parameter isUnaffected: whether the clean-up leaves an installation alone.
    init(_ fleet: Fleet, _ server: ServerProcess, where isUnaffected: @escaping (InstallID) -> Bool) throws {
        port = server.port
        let writer = RegistrationWriter(app: fleet.app.id, key: try server.makeKey(of: fleet.app.id))
        // Without sessions that expire: this benchmark removed the expiry from the rows, so such a request would change
        // them.
        let unaffected = fleet.indices.lazy.map { fleet[$0] }
            .filter { isUnaffected($0.installID) && $0.owner?.session?.expiresAt == nil }
            .prefix(Self.unchangedMax + Self.changedMax)
        pool = RequestPool(
            Array(unaffected).enumerated().flatMap { number, installation in
                number < Self.changedMax
                    ? [1, 2].map { writer.request(installation, settings: installation.settings.toggled($0)) }
                    : [writer.request(installation)]
            })
    }

    /// - Returns: the 99th percentile of the latency while `body` ran, in milliseconds.
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
