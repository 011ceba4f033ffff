import ArgumentParser
import EmbeddedPostgres
import EventLoop
import Foundation
import Logging
import Migrations
import PostgresClient
import PushRegistry
import RegistryAPI
import RegistryStore

/// The database of a command: the one in the settings, or the embedded one.
struct Database: Sendable {
    let connectionString: String
    /// The server that this process started and must stop.
    let embedded: EmbeddedPostgres?
    /// Set if another process runs the server: keeps that process from stopping it, if it waits for guests.
    private(set) var guest: EmbeddedPostgresGuest?

    /// The database for `serve`. It creates and starts the embedded server unless the settings name a database.
    static func start(_ settings: Settings, logger: Logger) async throws -> Database {
        if let url = settings.databaseURL { return Database(connectionString: url, embedded: nil) }
        let server = try await EmbeddedPostgres.start(
            directory: settings.dataDirectory,
            settings: ["max_connections": "\(embeddedConnectionsMax(settings))"], logger: logger)
        return Database(connectionString: server.connectionString, embedded: server)
    }

    /// The service's connections, and some for commands, tools and superusers.
    private static func embeddedConnectionsMax(_ settings: Settings) -> Int {
        max(100, LoopAssembly.connections(settings, isDistributed: false).upperBound + 20)
    }

    /// The database for commands other than `serve`. It never creates one: it uses the embedded server of a running
    /// service, or starts the server of a stopped one for the duration of the command.
    ///
    /// - Parameter isQuiet: whether not to print to standard error which database is used.
    /// - Throws: `NoDatabase`.
    static func attach(_ settings: Settings, isQuiet: Bool, logger: Logger) async throws -> Database {
        for warning in settings.warnings { logger.warning("\(warning)") }
        if let url = settings.databaseURL {
            let configuration = try PostgresConfiguration(url)
            if !isQuiet { show(inUse: "\(configuration.serverDescription) (\(settings.databaseSource.text))") }
            return Database(connectionString: url, embedded: nil)
        }
        guard EmbeddedPostgres.exists(in: settings.dataDirectory) else {
            throw NoDatabase(directory: settings.dataDirectory)
        }
        if !isQuiet { show(inUse: "the embedded PostgreSQL in \(URL(filePath: settings.dataDirectory).path)") }
        return try await joinOrStart(settings, logger: logger)
    }

    /// Waits while another process starts or stops the server.
    private static func joinOrStart(_ settings: Settings, logger: Logger) async throws -> Database {
        let deadline = ContinuousClock.now + joinDeadline
        while true {
            if let guest = try await EmbeddedPostgres.join(serverIn: settings.dataDirectory) {
                return Database(connectionString: guest.connectionString, embedded: nil, guest: guest)
            }
            do {
                return try await start(settings, logger: logger)
            } catch EmbeddedPostgresError.inUse where ContinuousClock.now < deadline {
                try await Task.sleep(for: joinInterval)
            }
        }
    }

    /// A start takes longer only if it recovers a large database after a crash.
    private static let joinDeadline = Duration.seconds(30)
    private static let joinInterval = Duration.milliseconds(50)

    private static func show(inUse name: String) {
        FileHandle.standardError.write(Data("database: \(name)\n".utf8))
    }

    /// Starts the logging, lends the database to a command other than `serve`, and stops a server that it started.
    ///
    /// - Parameter checksSchema: whether the command needs the schema of this binary.
    static func withAttached<Value>(
        _ settings: Settings, isQuiet: Bool = false, checksSchema: Bool = true,
        _ body: (Database) async throws -> Value
    ) async throws -> Value {
        let database = try await attach(settings, isQuiet: isQuiet, logger: ProcessLogging.start(settings))
        do {
            if checksSchema { try await database.checkSchema() }
            let value = try await body(database)
            await database.waitForGuests()
            try await database.stop()
            return value
        } catch {
            await database.waitForGuests()
            try? await database.stop()
            throw await database.explained(error, settings)
        }
    }

    /// Waits for other commands that use the server which this command started.
    private func waitForGuests() async {
        await embedded?.waitForGuests {
            let text = "waiting for other commands that use the embedded PostgreSQL started by this command\n"
            FileHandle.standardError.write(Data(text.utf8))
        }
    }

    /// `StoppedDatabase` instead of an error of the database, if the server was stopped during the command;
    /// `UnreachableDatabase` if no connection was opened; `OwnersRightMissing` if the role may not do it.
    private func explained(_ error: any Error, _ settings: Settings) async -> any Error {
        let isOfDatabase = error is PostgresError || error is StoreError || error is UnreachableDatabase
        if guest != nil, isOfDatabase,
            case nil = try? await EmbeddedPostgres.connectionString(ofServerIn: settings.dataDirectory)
        {
            return StoppedDatabase()
        }
        guard let error = error as? PostgresError else { return error }
        return switch error.kind {
        case .unavailable: UnreachableDatabase(error: error)
        case .insufficientPrivilege: await ownersRightMissing(error)
        default: error
        }
    }

    private func ownersRightMissing(_ error: PostgresError) async -> OwnersRightMissing {
        let owner = try? await PostgresSession.withSession(configuration) { session in
            try session.execute(
                "SELECT pg_get_userbyid(relowner) FROM pg_class WHERE oid = 'schema_migration'::regclass"
            )[0].decode(0, as: String.self)
        }
        return OwnersRightMissing(owner: owner, error: error)
    }

    func stop() async throws {
        try await embedded?.stop()
    }

    private var migrator: Migrator {
        get throws { Migrator(try migrationFiles.map(Migration.init), logger: Logger(label: "migrator")) }
    }

    /// Brings the schema up to date.
    ///
    /// - Throws: `SharedSessions`, `UnreachableDatabase`, `MigrationError`.
    func migrate() async throws -> [Migration] {
        try await unreachable {
            try await checkSessions()
            return try await migrator.migrate(configuration)
        }
    }

    /// Only `serve` and `migrate` change the schema. A newer one is fine: a migration only adds.
    ///
    /// - Throws: `SharedSessions`, `OutdatedSchema`, `UnreachableDatabase`, `MigrationError`.
    func checkSchema() async throws {
        let status = try await migrationStatus()
        guard let needed = status.pending.last?.version else { return }
        throw OutdatedSchema(version: status.applied.last?.version, needed: needed)
    }

    func migrationStatus() async throws -> MigrationStatus {
        try await unreachable {
            try await checkSessions()
            return try await migrator.status(configuration)
        }
    }

    /// Only a pooler between the process and PostgreSQL can share sessions.
    private func checkSessions() async throws {
        guard embedded == nil, guest == nil, try await !PostgresSession.keepsSettings(configuration) else { return }
        throw SharedSessions()
    }

    /// Throws a `PostgresError` of the body as `UnreachableDatabase` (migrations are a command's first statements), or
    /// as `OwnersRightMissing`.
    private func unreachable<Value>(_ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch let error as PostgresError where error.kind == .insufficientPrivilege {
            throw await ownersRightMissing(error)
        } catch let error as PostgresError {
            throw UnreachableDatabase(error: error)
        }
    }

    /// Lends the directory of apps and keys.
    func withDirectory<Value: Sendable>(_ body: (PostgresAppDirectory) async throws -> Value) async throws -> Value {
        let loop = EventLoop(name: "command")
        defer { loop.stop() }
        let client = PostgresClient(
            try configuration, on: loop, limits: .init(connectionsMin: 0, connectionsMax: 2),
            logger: ProcessLogging.logger)
        let directory = PostgresAppDirectory(postgres: client)
        // Both are cancelled at the end of this scope.
        async let _ = client.run()
        async let _ = directory.run()
        return try await body(directory)
    }
}

extension Database {
    /// Lends the audiences of an app.
    func withAudiences<Value: Sendable>(
        of app: App, _ settings: AudienceSettings, _ body: (AudienceConsole) async throws -> Value
    ) async throws -> Value {
        let loop = EventLoop(name: "audiences")
        defer { loop.stop() }
        let clients = [try audienceConfiguration(settings), try configuration].map {
            PostgresClient($0, on: loop, limits: settings.limits.pool, logger: ProcessLogging.logger)
        }
        // Both are cancelled at the end of this scope.
        async let _ = clients[0].run()
        async let _ = clients[1].run()
        return try await body(
            AudienceConsole(
                app: app, audiences: PostgresAudienceStore(postgres: clients[0], limits: settings.limits),
                segments: PostgresSegmentStore(postgres: clients[1]), links: try TimeZoneLinks()))
    }
}

extension Migration {
    /// - Throws: `ValidationError` unless the file name is `NNNN_verb_object`.
    init(_ file: MigrationFile) throws {
        let parts = file.name.split(separator: "_", maxSplits: 1)
        guard parts.count == 2, let version = Int(parts[0]) else {
            throw ValidationError("\(file.name) is not a name of a migration: NNNN_verb_object.")
        }
        self.init(version: version, name: String(parts[1]), sql: file.sql)
    }
}
