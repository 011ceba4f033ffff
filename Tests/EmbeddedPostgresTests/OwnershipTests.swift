import Foundation
import Glibc
import RegistryTestSupport
import Testing

@testable import EmbeddedPostgres

@Suite("A folder has one living owner, and a dead owner is replaced")
struct OwnershipTests {
    @Test func start_isRefusedWithOwnersID_whenAnotherOwnerLives() async throws {
        try await withServer { server, folder in
            await #expect(throws: EmbeddedPostgresError.inUse(directory: folder, processID: getpid())) {
                try await EmbeddedPostgres.start(folder)
            }
            try await server.expect("SELECT 1", is: "1")
        }
    }

    @Test func lookingForAServer_createsNothing() async throws {
        try await withFolder { folder in
            for directory in [folder, "\(folder)/missing"] {
                let connectionString = try await EmbeddedPostgres.connectionString(ofServerIn: directory)
                #expect(connectionString == nil)
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [])
        }
    }

    @Test func start_replacesServer_whenOwnerWasKilled() async throws {
        try await withFolder { folder in
            await #expect(processExitsWith: .signal(SIGKILL)) { [folder = folder as String] in
                let server = try await EmbeddedPostgres.start(folder)
                try await server.query("CREATE TABLE kept AS SELECT 42 AS value")
                kill(getpid(), SIGKILL)
            }
            let orphan = try #require(recordedProcessID(in: folder))
            #expect(ProcessTable.isAlive(orphan))
            let server = try await EmbeddedPostgres.start(folder)
            #expect(!ProcessTable.isAlive(orphan))
            try await server.expect("TABLE kept", is: "42")
            try await server.stop()
            #expect(await !server.isRunning)
        }
    }

    @Test func restart_succeeds_whenProcessIDFileNamesAnotherProcess() async throws {
        try await withServer { server, folder in
            try await server.query("CREATE TABLE kept AS SELECT 42 AS value")
            await server.kill()
            try await ThrowawayCluster.with(logger: silent) { other in
                let processID = try #require(await other.processID)
                try rewriteProcessID(in: folder, to: processID)
                try await server.restart()
                try await server.expect("TABLE kept", is: "42")
                #expect(await other.processID == processID)
            }
        }
    }

    /// The folder belongs to the server's user, who could lead root to any file.
    @Test func otherFileStays_whenTheProcessIDFileIsALink() async throws {
        try await withServer { server, folder in
            await server.kill()
            let path = "\(folder)/postgres/data/postmaster.pid"
            let victim = "\(folder)/victim"
            try "\(getpid())\nprecious\n".write(toFile: victim, atomically: false, encoding: .utf8)
            try FileManager.default.removeItem(atPath: path)
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: victim)
            try? await server.restart()
            #expect(try String(contentsOfFile: victim, encoding: .utf8).hasSuffix("\nprecious\n"))
            #expect(try String(contentsOfFile: victim, encoding: .utf8).hasPrefix("\(getpid())\n"))
        }
    }

    @Test func stop_freesFolder_whenItsTaskIsCancelled() async throws {
        try await withFolder { folder in
            let server = try await EmbeddedPostgres.start(folder)
            let stopping = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                try await server.stop()
            }
            try await stopping.value
            #expect(await !server.isRunning)
            try await withServer(in: folder) { #expect(await $0.isRunning) }
        }
    }

    private func recordedProcessID(in folder: String) -> pid_t? {
        let text = try? String(contentsOfFile: "\(folder)/postgres/data/postmaster.pid", encoding: .utf8)
        return text?.split(separator: "\n").first.flatMap { pid_t($0) }
    }

    private func rewriteProcessID(in folder: String, to processID: pid_t) throws {
        let path = "\(folder)/postgres/data/postmaster.pid"
        let text = try String(contentsOfFile: path, encoding: .utf8)
        let rest = text.drop { $0 != "\n" }
        try "\(processID)\(rest)".write(toFile: path, atomically: false, encoding: .utf8)
    }
}
