import EmbeddedPostgres
import Foundation
import Glibc
import PostgresClient
import RegistryTestSupport
import Testing

@Suite("The embedded PostgreSQL fits the service", .serialized, .timeLimit(.minutes(30)))
struct EmbeddedSizeTests {
    /// As on a machine with 64 hardware threads.
    private static let eventLoops = 64

    @Test func server_hasConnectionsForEveryLoop_andForCommands() async throws {
        let folder = "/tmp/push-registry-size-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        chmod(folder, 0o755)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let command = try RegistryCommand([
            "serve", "--listen", "127.0.0.1:0", "--event-loops", "\(Self.eventLoops)", "--data-dir", folder,
        ])
        defer { command.send(SIGKILL) }
        try await eventually("the service listens", within: .seconds(150)) {
            guard command.isRunning else { throw SizedServiceEnded(log: command.log) }
            return command.log.contains("listening")
        }
        let digest = try FileManager.default.attributesOfItem(atPath: "\(folder)/admin-key.sha256")
        #expect(digest[.posixPermissions] as? Int == 0o600, "who can read it can forge sessions")
        let url = try #require(try await EmbeddedPostgres.connectionString(ofServerIn: folder))
        try await TestDatabase.with(url, sessionsMax: 1) { database in
            try await eventually("every loop has its connections", within: .seconds(150)) {
                try await database.count(
                    "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'push-registry'")
                    >= 4 * Self.eventLoops
            }
        }
        let apps = try await RegistryCommand.run(["apps", "list", "--data-dir", folder])
        #expect(apps.status == 0, "\(apps.log)")
        let need = command.log.split(separator: "\n").filter { $0.contains("connections to PostgreSQL") }
        // 64 loops with 4 to 9 connections, and up to 4 for audiences; and 4 of the process.
        #expect(need.count == 1, "\(need)")
        #expect(need[0].contains(#""atLeast":"256""#) && need[0].contains(#""atMost":"836""#), "\(need)")
        #expect(!command.log.contains("tooManyConnections"), "\(command.log.suffix(2_000))")
        command.send(SIGTERM)
        #expect(try await command.exitStatus() == 0)
    }
}

private struct SizedServiceEnded: Error {
    let log: String
}
