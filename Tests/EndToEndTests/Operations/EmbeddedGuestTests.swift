import EmbeddedPostgres
import Foundation
import Glibc
import Logging
import PostgresClient
import RegistryTestSupport
import Testing

@Suite("Commands share the embedded PostgreSQL", .serialized, .timeLimit(.minutes(30)))
struct EmbeddedGuestTests {
    private static let line = #"{"installId":"phone","token":"\#(String(repeating: "ab", count: 32))"}"# + "\n"

    private let logger = Logger(label: "cluster") { _ in SwiftLogNoOpLogHandler() }

    /// Lends a folder with an embedded PostgreSQL that has an app.
    private func withFolder(_ body: (String) async throws -> Void) async throws {
        let folder = "/tmp/push-registry-guests-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        chmod(folder, 0o755)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await EmbeddedPostgres.start(directory: folder, logger: logger).stop()
        let migrated = try await RegistryCommand.run(["migrate", "--data-dir", folder])
        #expect(migrated.status == 0, "\(migrated.log)")
        let created = try await RegistryCommand.run(["apps", "create", "mail", "--data-dir", folder])
        #expect(created.status == 0, "\(created.log)")
        try await body(folder)
    }

    /// An import that lasts until its input ends.
    private struct LongImport {
        let command: RegistryCommand
        let input: FileHandle

        init(_ folder: String) throws {
            let path = "\(folder)/lines.ndjson"
            #expect(mkfifo(path, 0o600) == 0)
            // Open it for reading, too, so that this call does not wait for the command.
            input = FileHandle(fileDescriptor: open(path, O_RDWR | O_CLOEXEC), closeOnDealloc: true)
            command = try RegistryCommand([
                "import", path, "--app", "mail", "--data-dir", folder, "--format", "ndjson", "--map", "id=installId",
            ])
        }
    }

    @Test func command_waitsForOthers_thatUseItsServer() async throws {
        try await withFolder { folder in
            let first = try LongImport(folder)
            defer { first.command.send(SIGKILL) }
            var guest: EmbeddedPostgresGuest?
            try await eventually("the first command's server runs") {
                guest = try await EmbeddedPostgres.join(serverIn: folder)
                return guest != nil
            }
            try first.input.write(contentsOf: Data(Self.line.utf8))
            try first.input.close()
            try await eventually("the first command waits") {
                first.command.log.contains("waiting for other commands")
            }
            let other = try await RegistryCommand.run(["apps", "list", "--data-dir", folder])
            #expect(other.status == 0 && other.output.contains("mail"), "\(other.log)")
            #expect(first.command.isRunning)
            guest = nil
            #expect(try await first.command.exitStatus() == 0, "\(first.command.log)")
            #expect(try await EmbeddedPostgres.join(serverIn: folder) == nil)
        }
    }

    @Test func command_explainsTheError_whenTheServerIsStopped() async throws {
        try await withFolder { folder in
            let owner = try await EmbeddedPostgres.start(directory: folder, logger: logger)
            let command = try await TestDatabase.with(owner.connectionString) { database in
                // The command looks up its app before it reads its input.
                try await database.withTransaction { transaction in
                    _ = try await transaction.execute(["LOCK TABLE app IN ACCESS EXCLUSIVE MODE"])
                    let command = try LongImport(folder)
                    try await eventually("the command uses the server") {
                        try await database.count(
                            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'") > 0
                    }
                    return command
                }
            }
            defer { command.command.send(SIGKILL) }
            try await owner.stop()
            try command.input.write(contentsOf: Data(Self.line.utf8))
            try command.input.close()
            #expect(try await command.command.exitStatus() == 1)
            #expect(
                command.command.log.contains("was stopped during this command")
                    && command.command.log.contains("Run it again"), "\(command.command.log)")
            let again = try await RegistryCommand.run(["apps", "list", "--data-dir", folder])
            #expect(again.status == 0 && again.output.contains("mail"), "\(again.log)")
        }
    }

    /// One of them starts the server; the others wait until it runs.
    @Test func commands_thatStartAtOnce_shareOneServer() async throws {
        try await withFolder { folder in
            let commands = try (0..<4).map { _ in try RegistryCommand(["apps", "list", "--data-dir", folder]) }
            for command in commands { #expect(try await command.exitStatus() == 0, "\(command.log)") }
            #expect(try await EmbeddedPostgres.join(serverIn: folder) == nil)
        }
    }
}
