import EmbeddedPostgres
import Foundation
import RegistryTestSupport
import Testing

/// Thousands of random calls over HTTP on the real service and PostgreSQL are compared with the oracle.
///
/// **Sequential calls**: every response and, after every few calls, all tables equal those of the oracle.
///
/// **Concurrent calls**: in every app, four clients call concurrently about three phones, four tokens and three users.
/// After each round of a few calls, `Linearization` searches for a serial order that respects the order of calls that
/// did not overlap, in which the oracle returns exactly the received responses, and which leads to exactly the stored
/// installations, history, sessions and logouts. So the service is linearizable in these rounds. The rounds are short
/// because the search is exponential in their length; there are many.
///
/// The seed is printed. `PUSH_REGISTRY_MODEL_SEED` sets it: the calls are then the same, but not their timing.
@Suite(
    "The service follows the rules, sequentially and concurrently (R1 to R10)",
    .serialized)
struct ModelTests {
    private static let seed: UInt64 = {
        let chosen = ProcessInfo.processInfo.environment["PUSH_REGISTRY_MODEL_SEED"].flatMap { UInt64($0) }
        let seed = chosen ?? UInt64.random(in: 0..<1_000_000)
        print("model-based tests: PUSH_REGISTRY_MODEL_SEED=\(seed)")
        return seed
    }()

    @Test func responsesAndTables_equalTheOracles_forSequentialCalls() async throws {
        var world = ModelClient.World()
        world.phones.append("phone-3")
        world.hasReinstalls = true
        try await expectOracle(in: world, apps: 6, clients: 1, rounds: 40, calls: 8)
    }

    @Test func responsesAndTables_haveASerialOrder_forConcurrentCalls() async throws {
        try await expectOracle(in: ModelClient.World(), apps: 12, clients: 4, rounds: 16, calls: 3)
    }

    private func expectOracle(
        in world: ModelClient.World, apps: Int, clients: Int, rounds: Int, calls: Int
    ) async throws {
        try await withRegistry { registry in
            let statuses = try await race(apps) { number in
                let seed = Self.seed &* 100 &+ UInt64(number)
                var app = try await ModelApp(in: registry, world, clients: clients, seed: seed)
                var statuses: [Int] = []
                for _ in 0..<rounds { statuses += try await app.round(calls: calls) }
                return statuses
            }.flatMap { $0 }
            #expect(statuses.count == apps * clients * rounds * calls)
            #expect(Set(statuses).isSubset(of: [200, 201, 204, 401, 403, 404, 409, 412]), "\(Set(statuses))")
            // A run without refusals, or with hardly anything else, would prove little.
            for status in [200, 201, 401, 409, 412] { #expect(statuses.contains(status), "no \(status)") }
            let verified = try await RegistryCommand.run(
                ["verify"], environment: ["PUSH_REGISTRY_DATABASE_URL": registry.cluster.connectionString])
            #expect(verified.status == 0, "\(verified.output)")
        }
    }
}
