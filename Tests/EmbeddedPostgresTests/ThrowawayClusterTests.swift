import Foundation
import Glibc
import RegistryTestSupport
import Testing

@testable import EmbeddedPostgres

@Suite("A throw-away cluster leaves nothing behind")
struct ThrowawayClusterTests {
    @Test func with_leavesNothing_whenBodyReturns() async throws {
        let (folder, processID) = try await ThrowawayCluster.with(logger: silent) { server in
            try await server.expect("SELECT current_user", is: "push_registry")
            return (clusterFolder(server), try #require(await server.processID))
        }
        #expect(FileStatus(folder) == nil)
        #expect(!ProcessTable.isAlive(processID))
    }

    @Test func with_leavesNothing_whenProcessIsKilled() async throws {
        try await withFolder { folder in
            let note = "\(folder)/note"
            await #expect(processExitsWith: .signal(SIGKILL)) { [note = note as String] in
                try await ThrowawayCluster.with(logger: silent) { server in
                    let processID = try #require(await server.processID)
                    try "\(processID) \(clusterFolder(server))".write(toFile: note, atomically: true, encoding: .utf8)
                    kill(getpid(), SIGKILL)
                }
            }
            let words = try String(contentsOfFile: note, encoding: .utf8).split(separator: " ")
            let processID = try #require(pid_t(words[0]))
            let remains = String(words[1])
            #expect(
                await becomesTrue(within: .seconds(60)) {
                    FileStatus(remains) == nil && !ProcessTable.isAlive(processID)
                })
        }
    }

    @Test func restart_keepsCommittedRowsAndAddress_whenServerWasKilled() async throws {
        try await ThrowawayCluster.with(listensOnLoopback: true, logger: silent) { server in
            try await server.query("CREATE TABLE kept AS SELECT 42 AS value")
            await server.kill()
            #expect(await !server.isRunning)
            await #expect(throws: EmbeddedPostgresError.self) { try await server.query("SELECT 1") }
            try await server.restart()
            try await server.expect("TABLE kept", is: "42")
            try await server.expect("TABLE kept", over: server.loopbackConnectionString, is: "42")
        }
    }

    @Test func restart_succeeds_howeverManyClientsConnectDuringTheKill() async throws {
        try await ThrowawayCluster.with(logger: silent) { server in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 1...8 {
                    group.addTask {
                        while !Task.isCancelled {
                            // While it counts, a session does not notice that its server has ended.
                            _ = try? await server.query("SELECT count(*) FROM generate_series(1, 300000)")
                        }
                    }
                }
                for _ in 1...10 {
                    await server.kill()
                    try await server.restart()
                }
                group.cancelAll()
            }
            try await server.expect("SELECT 42", is: "42")
        }
    }

    @Test func loopback_refusesSuperuser_whenItIsOpen() async throws {
        try await ThrowawayCluster.with(listensOnLoopback: true, logger: silent) { server in
            let loopback = try #require(server.loopbackConnectionString)
            let superuser = loopback.replacing("user=push_registry", with: "user=postgres")
            await #expect(throws: EmbeddedPostgresError.self) { try await server.query("SELECT 1", over: superuser) }
            try await server.expect("SHOW is_superuser", over: server.superuserConnectionString, is: "on")
        }
    }
}

@Suite("A server that stays up is as good as a new one", .serialized)
struct WarmServerTests {
    @Test(arguments: [
        "ALTER SYSTEM SET work_mem = '1MB'", "CREATE ROLE other", "ALTER ROLE push_registry SET work_mem = '1MB'",
        "ALTER ROLE push_registry CONNECTION LIMIT 1", "CREATE DATABASE other",
    ])
    func server_isRemoved_whenItsBorrowerChangedMoreThanItsDatabase(change: String) async throws {
        let folder = try await ThrowawayCluster.withDatabase(logger: silent) { server in
            try await server.query(change, over: server.superuserConnectionString)
            return clusterFolder(server)
        }
        #expect(FileStatus(folder) == nil)
    }

    @Test func server_isRemoved_whenItsBorrowerKilledIt() async throws {
        let folder = try await ThrowawayCluster.withDatabase(logger: silent) { server in
            await server.kill()
            return clusterFolder(server)
        }
        #expect(FileStatus(folder) == nil)
    }
}
