import EmbeddedPostgres
import Foundation
import RegistryTestSupport
import Testing

@Suite("A pooler must keep sessions")
struct PoolerTests {
    private static let pooler = "/usr/sbin/pgbouncer"
    private static var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: pooler) }

    @Test(.enabled(if: isInstalled, "PgBouncer is not installed"))
    func everyStart_isRefused_whenThePoolerLendsSessionsForOneTransaction() async throws {
        try await ThrowawayCluster.withDatabase { server in
            let words = "pool_mode = session"
            try await Self.withPooler(of: "transaction", before: server) { environment in
                for command in [["migrate"], ["serve"], ["cleanup"]] {
                    let refusal = try await RegistryCommand.run(command, environment: environment)
                    #expect(refusal.status != 0 && refusal.log.contains(words), "\(command): \(refusal.log)")
                }
            }
            try await Self.withPooler(of: "session", before: server) { environment in
                let migration = try await RegistryCommand.run(["migrate"], environment: environment)
                #expect(migration.status == 0, "\(migration.log)")
            }
        }
    }

    /// Lends the environment of a command that connects through PgBouncer.
    private static func withPooler(
        of mode: String, before server: EmbeddedPostgres, _ body: ([String: String]) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "pooler-\(UUID())").path
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o777])
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let configuration = """
            [databases]
            * = host=\(server.node.host) port=\(server.node.port)
            [pgbouncer]
            pool_mode = \(mode)
            auth_type = trust
            auth_file = \(folder)/users
            unix_socket_dir = \(folder)
            listen_port = 6432
            ignore_startup_parameters = options, extra_float_digits
            """
        try Data(configuration.utf8).write(to: URL(filePath: "\(folder)/pgbouncer.ini"))
        try Data(#""push_registry" """#.utf8).write(to: URL(filePath: "\(folder)/users"))
        let process = Process()
        process.executableURL = URL(filePath: pooler)
        // It refuses to run as root.
        process.arguments = ["-q", "\(folder)/pgbouncer.ini"] + (getuid() == 0 ? ["-u", "postgres"] : [])
        process.standardError = FileHandle.nullDevice
        try process.run()
        defer {
            // A thread of the test has blocked SIGTERM, which its children inherit.
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
        }
        try await eventually("PgBouncer listens") { FileManager.default.fileExists(atPath: "\(folder)/.s.PGSQL.6432") }
        try await body([
            "PUSH_REGISTRY_DATABASE_URL": "host=\(folder) port=6432 user=push_registry dbname=push_registry",
            "PUSH_REGISTRY_ADMIN_KEY": RunningService.adminKey,
        ])
    }
}
