import EmbeddedPostgres
import Foundation
import PostgresClient
import RegistryTestSupport
import Testing

@Suite("A full disk loses no acknowledged change", .serialized)
struct DiskFullTests {
    @Test(.enabled(if: SmallDisk.isPossible, "mounting a small disk requires root"))
    func acknowledgedRegistrations_survive_whenTheDiskIsFull() async throws {
        try await SmallDisk.with { disk in
            try await withRegistry(prepare: { try await store(tablesOn: disk, $0) }) { registry in
                try await expectEndurance(registry, fill: { try disk.fill() }, free: { try disk.free() })
            }
        }
    }

    /// New tables and indexes are created there; the write-ahead log is not.
    private func store(tablesOn disk: SmallDisk, _ database: TestDatabase) async throws {
        let folder = "\(disk.path)/tables"
        // PostgreSQL's user must own the folder. The statement fails if the program does not read its input.
        let program = PostgresSQL(stringLiteral: "'mkdir \(folder) && cat > /dev/null'")
        _ = try await database.rows("COPY (SELECT 1) TO PROGRAM \(sql: program)")
        _ = try await database.rows("CREATE TABLESPACE small LOCATION \(sql: .init(stringLiteral: "'\(folder)'"))")
        _ = try await database.rows("GRANT CREATE ON TABLESPACE small TO push_registry")
        _ = try await database.rows("ALTER ROLE push_registry SET default_tablespace = 'small'")
    }

    /// Without space for its write-ahead log, PostgreSQL stops; an operator makes space and starts it.
    @Test(.enabled(if: SmallDisk.isPossible, "mounting a small disk requires root"))
    func acknowledgedRegistrations_survive_whenPostgreSQLHasNoSpaceForItsLog() async throws {
        try await SmallDisk.with { disk in
            try await withRegistry { registry in
                try await move(logOf: registry.cluster, to: disk)
                try await eventually("the service is ready") {
                    try await registry.send("GET", "/readyz", key: nil).status == 200
                }
                let app = try await RegistryApp.make(in: registry)
                let ledger = try await Load.run(on: app) { ledger in
                    try await eventually("registrations flow") { ledger.acknowledged.count > 200 }
                    try disk.fill()
                    try await exhaustLog(registry.cluster)
                    try await eventually("clients are refused") { ledger.refusals.count > 4 * Load.clients }
                    #expect(try await registry.send("GET", "/healthz", key: nil).status == 200)
                    try disk.free()
                    // The processes of the server that stopped may still end.
                    try await eventually("PostgreSQL starts") { (try? await registry.cluster.restart()) != nil }
                    let outage = try await ledger.timeToHeal()
                    #expect(outage < .seconds(5))
                }
                ledger.expectClearRefusals()
                try await app.expectKept(ledger)
            }
        }
    }

    private func move(logOf cluster: EmbeddedPostgres, to disk: SmallDisk) async throws {
        let data = try await TestDatabase.with(cluster.superuserConnectionString) { database in
            try await database.column("SHOW data_directory", as: String.self)[0]
        }
        await cluster.kill()
        #expect(SmallDisk.run("mv", "\(data)/pg_wal", "\(disk.path)/wal"))
        #expect(SmallDisk.run("ln", "-s", "\(disk.path)/wal", "\(data)/pg_wal"))
        try await cluster.restart()
    }

    /// Fills the space that the log has already allocated, until the server stops.
    private func exhaustLog(_ cluster: EmbeddedPostgres) async throws {
        try await TestDatabase.with(cluster.superuserConnectionString) { database in
            try await eventually("PostgreSQL stops") {
                do {
                    _ = try await database.rows("SELECT pg_switch_wal()")
                    return false
                } catch {
                    return true
                }
            }
        }
    }

    /// The same without a separate disk: a trigger raises PostgreSQL's error.
    @Test func registrations_areRefusedClearly_whenPostgreSQLReportsAFullDisk() async throws {
        try await withRegistry { registry in
            _ = try await registry.database.rows(
                """
                CREATE FUNCTION report_full_disk() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END $$
                """)
            try await expectEndurance(
                registry,
                fill: {
                    _ = try await registry.database.rows(
                        """
                        CREATE TRIGGER full_disk BEFORE INSERT ON token_event
                        FOR EACH STATEMENT EXECUTE FUNCTION report_full_disk()
                        """)
                },
                free: { _ = try await registry.database.rows("DROP TRIGGER full_disk ON token_event") })
        }
    }

    private func expectEndurance(
        _ registry: Registry, fill: () async throws -> Void, free: () async throws -> Void
    ) async throws {
        let app = try await RegistryApp.make(in: registry)
        _ = try await app.put("known", as: "alice")
        let ledger = try await Load.run(on: app) { ledger in
            try await eventually("registrations flow") { ledger.acknowledged.count > 200 }
            try await fill()
            try await eventually("clients are refused") { ledger.refusals.count > 4 * Load.clients }
            // Reads are served.
            #expect(try await app.put("known", as: "alice").json["status"] == "unchanged")
            #expect(try await app.get("known").status == 200)
            #expect(try await registry.send("GET", "/healthz", key: nil).status == 200)
            let full = try await registry.send("GET", "/readyz", key: nil)
            #expect(full.status == 200 && full.json["degraded"] == ["the database refuses writes: diskFull"])
            try await free()
            let outage = try await ledger.timeToHeal()
            #expect(outage < .seconds(5))
            try await eventually("the service is no longer degraded") {
                try await registry.send("GET", "/readyz", key: nil).json["degraded"] == []
            }
        }
        ledger.expectClearRefusals()
        try await app.expectKept(ledger)
        try await registry.expectVerified()
    }
}

/// A small file system in memory.
struct SmallDisk: Sendable {
    /// The write-ahead log that is moved here may have six segments that are kept for reuse.
    private static let mebibytes = 256

    let path: String
    private var ballast: URL { URL(filePath: "\(path)/ballast") }

    /// Whether this process may mount one; usually only root outside of a container.
    static let isPossible: Bool = {
        guard let disk = try? SmallDisk() else { return false }
        disk.remove()
        return true
    }()

    private init() throws {
        path = "/tmp/push-registry-disk-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        guard geteuid() == 0, Self.run("mount", "-t", "tmpfs", "-o", "size=\(Self.mebibytes)m,mode=1777", "tmpfs", path)
        else {
            try FileManager.default.removeItem(atPath: path)
            throw POSIXError(.EPERM)
        }
    }

    /// Lends a temporary one.
    static func with(_ body: (SmallDisk) async throws -> Void) async throws {
        let disk = try SmallDisk()
        defer { disk.remove() }
        try await body(disk)
    }

    private func remove() {
        _ = Self.run("umount", path)
        try? FileManager.default.removeItem(atPath: path)
    }

    /// Fills the disk.
    func fill() throws {
        try Data().write(to: ballast)
        let file = try FileHandle(forWritingTo: ballast)
        defer { try? file.close() }
        let piece = Data(count: 64 * 1024)
        while (try? file.write(contentsOf: piece)) != nil {}
    }

    /// Frees the space.
    func free() throws {
        try FileManager.default.removeItem(at: ballast)
    }

    /// Runs a program as this process's user.
    ///
    /// - Returns: whether it succeeded.
    static func run(_ program: String, _ arguments: String...) -> Bool {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [program] + arguments
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }
}
