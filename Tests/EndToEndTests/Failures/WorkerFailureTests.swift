import EmbeddedPostgres
import RegistryTestSupport
import Testing

@Suite("If a worker of a Citus cluster fails, only its apps are refused", .enabled(if: CitusCluster.isWanted))
struct WorkerFailureTests {
    @Test func appsOfOtherWorkers_areServed_andThoseOfAKilledWorkerReturn() async throws {
        try await withDistributedRegistry { registry, workers in
            let (near, far) = (try await RegistryApp.make(in: registry), try await RegistryApp.make(in: registry))
            try await move(near, to: workers[0])
            try await move(far, to: workers[1])
            let undisturbed = try await Load.run(on: far) { farLedger in
                let disturbed = try await Load.run(on: near) { nearLedger in
                    _ = try await nearLedger.timeToHeal()
                    await workers[0].kill()
                    try await eventually("the app of the killed worker is refused") {
                        try await near.put("probe", as: "alice").status == 503
                    }
                    // The other app goes on, while the worker is away.
                    for _ in 0..<3 { #expect(try await farLedger.timeToHeal() < .seconds(5)) }
                    try await workers[0].restart()
                    #expect(try await nearLedger.timeToHeal() < .seconds(20))
                }
                disturbed.expectClearRefusals()
                try await near.expectKept(disturbed)
            }
            #expect(undisturbed.refusals.isEmpty)
            try await far.expectKept(undisturbed)
            let verified = try await RegistryCommand.run(
                ["verify", "--database-url", registry.cluster.connectionString])
            #expect(verified.status == 0, "\(verified.output)")
        }
    }

    private func move(_ app: RegistryApp, to worker: EmbeddedPostgres) async throws {
        let result = try await RegistryCommand.run([
            "apps", "move", app.id, "\(worker.node.host):\(worker.node.port)", "--database-url",
            app.registry.cluster.connectionString,
        ])
        try #require(result.status == 0, "\(result.log)")
    }
}
