import RegistryTestSupport
import Testing

@testable import EmbeddedPostgres

@Suite("A server that exits without being stopped is restarted")
struct KeepRunningTests {
    @Test func server_isRestartedWithItsData_whenItWasKilled() async throws {
        try await withServer { server, _ in
            _ = try await server.query("CREATE TABLE kept AS SELECT 42 AS value")
            let keeping = Task { await server.keepRunning() }
            for _ in 1...2 {
                let killed = await server.processID
                await server.kill()
                try await eventually {
                    guard await server.isRunning else { return false }
                    return (try? await server.query("TABLE kept")) == "42"
                }
                #expect(await server.processID != killed)
            }
            keeping.cancel()
            await keeping.value
        }
    }

    @Test func server_staysDown_whenItWasStopped() async throws {
        try await withServer { server, _ in
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
