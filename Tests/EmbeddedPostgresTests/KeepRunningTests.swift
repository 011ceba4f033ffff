import Testing

@testable import EmbeddedPostgres

@Suite("A server that exits without being stopped is restarted")
struct KeepRunningTests {
    @Test func server_isRestartedWithItsData_whenItWasKilled() async throws {
        try await withFolder { folder in
            try await withServer(in: folder) { server in
                _ = try await server.query("CREATE TABLE kept AS SELECT 42 AS value")
                let keeping = Task { await server.keepRunning() }
                for _ in 1...2 {
                    let killed = await server.processID
                    await server.kill()
                    let deadline = ContinuousClock.now + .seconds(60)
                    while true {
                        if await server.isRunning, let output = try? await server.query("TABLE kept"), output == "42" {
                            break
                        }
                        guard ContinuousClock.now < deadline else { throw NotRestarted() }
                        try await Task.sleep(for: .milliseconds(20))
                    }
                    #expect(await server.processID != killed)
                }
                keeping.cancel()
                await keeping.value
            }
        }
    }

    @Test func server_staysDown_whenItWasStopped() async throws {
        try await withFolder { folder in
            try await withServer(in: folder) { server in
                for round in 1...8 {
                    let keeping = Task { await server.keepRunning() }
                    // In each round the server is stopped at another time within the polling interval.
                    try await Task.sleep(for: .milliseconds(25 * round))
                    try await server.stop()
                    await keeping.value
                    #expect(await !server.isRunning)
                    try await server.restart()
                }
            }
        }
    }

    private struct NotRestarted: Error {}
}
