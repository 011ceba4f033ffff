import EmbeddedPostgres
import Foundation
import RegistryTestSupport
import Testing

/// Thousands of calls at random, over HTTP, on the service as it ships and a real PostgreSQL, are held to the oracle.
///
/// **One after another**: every answer and, after every few calls, all tables are exactly what the oracle says.
///
/// **At the same time**: four clients call on three phones, four tokens and three users at once, in every app. After
/// each round of a few calls a serial order is searched for (`Linearization`) in which the oracle gives exactly the
/// answers that were given, that respects what was over before something else began, and that leads to exactly what the
/// tables say: installations, the whole history, sessions and logouts. So the service is linearizable in these rounds,
/// which is more than that its history makes sense. The rounds are short because the search is exponential in them;
/// there are many.
///
/// The seed is printed. `PUSH_REGISTRY_MODEL_SEED` sets it: the calls are the same again, though what comes first is
/// not.
@Suite(
    "The service does what the rules say, in whatever order calls come (R1 to R10)",
    .serialized)
struct ModelTests {
    private static let seed: UInt64 = {
        let chosen = ProcessInfo.processInfo.environment["PUSH_REGISTRY_MODEL_SEED"].flatMap { UInt64($0) }
        let seed = chosen ?? UInt64.random(in: 0..<1_000_000)
        print("model-based tests: PUSH_REGISTRY_MODEL_SEED=\(seed)")
        return seed
    }()

    @Test func answersAndTables_areTheOracles_whenCallsComeOneAfterAnother() async throws {
        var world = ModelClient.World()
        world.phones.append("phone-3")
        world.hasReinstalls = true
        try await expectOracle(in: world, apps: 6, clients: 1, rounds: 40, calls: 8)
    }

    @Test func answersAndTables_areOfASerialOrder_whenClientsCallAtTheSameTime() async throws {
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
            // A run in which hardly anything was refused, or nearly everything, would prove little.
            for status in [200, 201, 401, 409, 412] { #expect(statuses.contains(status), "no \(status)") }
            let verified = try await RegistryCommand.run(
                ["verify"], environment: ["PUSH_REGISTRY_DATABASE_URL": registry.cluster.connectionString])
            #expect(verified.status == 0, "\(verified.output)")
        }
    }
}
