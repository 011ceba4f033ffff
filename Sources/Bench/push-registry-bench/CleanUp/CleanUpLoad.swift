import FleetGenerator
import PushRegistry

/// Registrations during the clean-up, over a few connections. One in twenty changes settings.
struct CleanUpLoad {
    static let connections = 8
    private static let warmUp = Duration.seconds(2)
    private static let installationsMax = 10_000
    /// One in this many changes settings.
    private static let changedShare = 20

    private let wrk: Wrk
    private let requests: RequestFile

    /// - Parameter isUnaffected: whether the clean-up leaves an installation alone.
    init(_ fleet: Fleet, _ server: ServerProcess, where isUnaffected: @escaping (InstallID) -> Bool) async throws {
        wrk = Wrk(port: server.port, connections: Self.connections)
        let writer = RegistrationWriter(app: fleet.app.id, key: try await server.makeKey(of: fleet.app.id))
        // Without sessions that expire: this benchmark removed the expiry from the rows, so such a request would change
        // them.
        let unaffected = fleet.indices.lazy.filter { number in
            isUnaffected(fleet[number].installID) && fleet[number].owner?.session?.expiresAt == nil
        }.prefix(Self.installationsMax)
        requests = RequestFile(unaffected, variants: 2, .cyclic) { number, variant in
            let settings = fleet[number].settings
            let isChanged = number % Self.changedShare == 0
            return writer.request(fleet[number], settings: isChanged ? settings.toggled(1 + variant) : nil)
        }
    }

    /// - Returns: the 99th percentile of the latency while `body` ran, in milliseconds.
    func p99(during body: () async throws -> Void) async throws -> Double {
        try await wrk.warmUp(requests, for: Self.warmUp)
        let result = try await wrk.run(requests, during: body)
        guard result.failures == 0 else { throw BenchmarkFailure("\(result.failures) registrations failed") }
        return result.p99Milliseconds
    }
}
