import EmbeddedPostgres
import Logging
import PostgresClient
import RegistryTestSupport
import Testing

@Suite("Migrations")
struct MigratorTests {
    private static let table = Migration(
        version: 1, name: "create_table", sql: "CREATE TABLE t (id int); CREATE TABLE u ();")
    private static let column = Migration(version: 2, name: "add_column", sql: "ALTER TABLE t ADD name text")
    private static let index = Migration(
        version: 3, name: "create_index",
        sql: """
            -- push-registry: no-transaction
            DROP INDEX IF EXISTS t_id;
            -- push-registry: next-statement
            CREATE INDEX CONCURRENTLY t_id ON t (id);
            """)
    private static let broken = Migration(version: 4, name: "break", sql: "CREATE TABLE v (); SELECT 1 / 0")

    @Test func migrations_areAppliedOnce_inOrder() async throws {
        try await withDatabase { configuration in
            let migrator = Migrator.make([Self.column, Self.table])
            #expect(try await migrator.status(configuration).pending == [Self.table, Self.column])
            #expect(try await migrator.migrate(configuration) == [Self.table, Self.column])
            #expect(try await migrator.migrate(configuration) == [])
            let status = try await migrator.status(configuration)
            #expect(status.isUpToDate && status.applied.map(\.name) == ["create_table", "add_column"])
        }
    }

    @Test func migration_isRolledBack_whenItFails() async throws {
        try await withDatabase { configuration in
            let error = await migrationError {
                try await Migrator.make([Self.table, Self.broken]).migrate(configuration)
            }
            guard case .failed(4, "break", let cause) = error else { throw NoError() }
            #expect(cause.kind == .invalidData)
            let status = try await Migrator.make([Self.table, Self.broken]).status(configuration)
            #expect(status.applied.map(\.version) == [1])
            #expect(status.pending == [Self.broken])
            try await PostgresSession.withSession(configuration) { session in
                let rows = try session.execute("SELECT FROM pg_class WHERE relname = 'v'")
                #expect(rows.isEmpty)
            }
        }
    }

    @Test func start_stops_whenAMigrationWasChanged() async throws {
        try await withDatabase { configuration in
            _ = try await Migrator.make([Self.table]).migrate(configuration)
            let changed = Migration(version: 1, name: "create_table", sql: Self.table.sql + " ")
            let error = await migrationError { try await Migrator.make([changed]).migrate(configuration) }
            guard case .changed(1, "create_table") = error else { throw NoError() }
        }
    }

    @Test func start_stops_whenAMigrationIsMissingOrOutOfOrder() async throws {
        try await withDatabase { configuration in
            _ = try await Migrator.make([Self.table, Self.index]).migrate(configuration)
            let missing = await migrationError {
                try await Migrator.make([Self.table, Self.broken]).migrate(configuration)
            }
            guard case .missing(3, "create_index") = missing else { throw NoError() }
            let late = await migrationError {
                try await Migrator.make([Self.table, Self.column, Self.index]).migrate(configuration)
            }
            guard case .outOfOrder(2, "add_column") = late else { throw NoError() }
        }
    }

    @Test func oldBinary_starts_whenTheDatabaseIsNewer() async throws {
        try await withDatabase { configuration in
            _ = try await Migrator.make([Self.table, Self.column]).migrate(configuration)
            let old = Migrator.make([Self.table])
            #expect(try await old.migrate(configuration) == [])
            let status = try await old.status(configuration)
            #expect(status.isUpToDate && status.unknown.map(\.version) == [2])
        }
    }

    @Test func processes_takeTurns_whenTheyStartAtOnce() async throws {
        try await withDatabase { configuration in
            let applied = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        try await Migrator.make([Self.table, Self.column, Self.index]).migrate(configuration).count
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(applied.sorted() == [0, 0, 0, 3])
        }
    }

    private func withDatabase(_ body: @Sendable (PostgresConfiguration) async throws -> Void) async throws {
        try await ThrowawayCluster.withDatabase { try await body(PostgresConfiguration($0.connectionString)) }
    }

    private func migrationError(_ body: () async throws -> [Migration]) async -> MigrationError? {
        do {
            _ = try await body()
            return nil
        } catch { return error as? MigrationError }
    }
}

extension Migrator {
    fileprivate static func make(_ migrations: [Migration]) -> Migrator {
        Migrator(migrations, logger: Logger(label: "test"))
    }
}

@Suite("Blocking sessions")
struct PostgresSessionTests {
    @Test func rows_areInserted_whenTheCopySucceeds() async throws {
        try await withSession { session in
            try session.run(
                script:
                    """
                    CREATE TYPE mood AS ENUM ('glad', 'sad');
                    CREATE TABLE t (id int, m mood, at timestamptz, l text[])
                    """)
            let count = try session.copyIn("COPY t FROM STDIN (FORMAT binary)") { rows in
                for id in Int32(0)..<20_000 {
                    try rows.write(
                        id, id % 2 == 0 ? "glad" : "sad", id % 3 == 0 ? PostgresTimestamp?.none : .some(.examples[0]),
                        ["a", "ünïcödé"])
                }
            }
            #expect(count == 20_000)
            let row = try session.execute(
                "SELECT count(*), count(*) FILTER (WHERE m = 'sad'), count(at), min(l[2]) FROM t")[0]
            #expect(try row.decode(0) == 20_000)
            #expect(try row.decode(1) == 10_000)
            #expect(try row.decode(2) == 13_333)
            #expect(try row.decode(3) == "ünïcödé")
        }
    }

    @Test func noRow_isInserted_whenTheCopyFails() async throws {
        try await withSession { session in
            try session.run(script: "CREATE TABLE t (id int PRIMARY KEY)")
            #expect(throws: NoError.self) {
                try session.copyIn("COPY t FROM STDIN (FORMAT binary)") { rows in
                    try rows.write(Int32(1))
                    throw NoError()
                }
            }
            let error = #expect(throws: PostgresError.self) {
                try session.copyIn("COPY t FROM STDIN (FORMAT binary)") { rows in
                    for _ in 0..<2 { try rows.write { $0.bind(Int32(1)) } }
                }
            }
            #expect(error?.kind == .uniqueViolation(constraint: "t_pkey"))
            #expect(try session.execute("SELECT count(*) FROM t")[0].decode(0) == 0)
        }
    }

    private func withSession(_ body: @escaping @Sendable (PostgresSession) throws -> Void) async throws {
        try await ThrowawayCluster.withDatabase { server in
            try await PostgresSession.withSession(PostgresConfiguration(server.connectionString), body)
        }
    }
}
