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

/// The database that a command works on: the one that the settings name, or the embedded one.
struct Database: Sendable {
    let connectionString: String
    /// The server that this process started and has to stop.
    let embedded: EmbeddedPostgres?
    /// The use of a server that another process runs.
    private(set) var guest: EmbeddedPostgresGuest?

    /// Starts the embedded server, for the process that serves.
    static func start(_ settings: Settings, logger: Logger) async throws -> Database {
        if let url = settings.databaseURL { return Database(connectionString: url, embedded: nil) }
        let server = try await EmbeddedPostgres.start(directory: settings.dataDirectory, logger: logger)
        return Database(connectionString: server.connectionString, embedded: server)
    }

    /// The database of a command other than `serve`, which is named on the standard error unless a program reads the
    /// answer. It creates none: uses the embedded server of a service that runs, or starts for the time of the command
    /// the one that a service left.
    ///
    /// - Throws: `NoDatabase`.
    static func attach(_ settings: Settings, isQuiet: Bool, logger: Logger) async throws -> Database {
        for warning in settings.warnings { logger.warning("\(warning)") }
        if let url = settings.databaseURL {
            let configuration = try PostgresConfiguration(url)
            if !isQuiet { show(inUse: "\(configuration.place) (\(settings.databaseSource.text))") }
            return Database(connectionString: url, embedded: nil)
        }
        guard EmbeddedPostgres.exists(in: settings.dataDirectory) else {
            throw NoDatabase(directory: settings.dataDirectory)
        }
        if !isQuiet { show(inUse: "the embedded PostgreSQL in \(URL(filePath: settings.dataDirectory).path)") }
        return try await joinOrStart(settings, logger: logger)
    }

    /// While another process starts or stops the server, this one waits.
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

    /// A start with recovery takes longer only after a crash of a large database.
    private static let joinDeadline = Duration.seconds(30)
    private static let joinInterval = Duration.milliseconds(50)

    private static func show(inUse place: String) {
        FileHandle.standardError.write(Data("database: \(place)\n".utf8))
    }

    /// Lends the database of a command other than `serve`, and ends what was started for it, however `body` ends.
    static func withAttached<Value>(
        _ settings: Settings, isQuiet: Bool = false, logger: Logger, _ body: (Database) async throws -> Value
    ) async throws -> Value {
        let database = try await attach(settings, isQuiet: isQuiet, logger: logger)
        do {
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

    /// Other commands that have joined meanwhile go on until they have ended.
    private func waitForGuests() async {
        await embedded?.waitForGuests {
            let text = "waiting for other commands, which use the embedded PostgreSQL that this one has started\n"
            FileHandle.standardError.write(Data(text.utf8))
        }
    }

    /// The error, or that the server was stopped meanwhile.
    private func explained(_ error: any Error, _ settings: Settings) async -> any Error {
        let isOfDatabase = error is PostgresError || error is StoreError || error is UnreachableDatabase
        guard guest != nil, isOfDatabase,
            case nil = try? await EmbeddedPostgres.connectionString(ofServerIn: settings.dataDirectory)
        else { return error }
        return StoppedDatabase()
    }

    func stop() async throws {
        try await embedded?.stop()
    }

    var configuration: PostgresConfiguration {
        get throws { try PostgresConfiguration(connectionString) }
    }

    /// The service's sessions. Its statements are written for index look-ups of many keys, whatever the planner knew of
    /// the tables when it first saw them; no statement may hold locks for longer than a request lives.
    var serviceConfiguration: PostgresConfiguration {
        get throws {
            try PostgresConfiguration(
                connectionString,
                settings: [
                    "enable_seqscan": "off", "enable_hashjoin": "off", "enable_mergejoin": "off", "jit": "off",
                    "plan_cache_mode": "force_generic_plan", "statement_timeout": "10s",
                    // A batch waits no longer: its neighbours wait with it.
                    "lock_timeout": "100ms",
                    "idle_in_transaction_session_timeout": "15s",
                ])
        }
    }

    /// The sessions that read audiences. Their questions are any, so the planner may do whatever it finds best.
    func audienceConfiguration(_ settings: AudienceSettings) throws -> PostgresConfiguration {
        try PostgresConfiguration(
            settings.readDatabaseURL ?? connectionString, applicationName: "push-registry audiences",
            settings: settings.limits.sessionSettings)
    }

    /// Of one statement of the session that folds.
    static let foldingTimeout = Duration.seconds(30)

    /// The one session that folds the roll-up.
    var foldingConfiguration: PostgresConfiguration {
        get throws {
            try PostgresConfiguration(
                connectionString,
                settings: ["jit": "off", "statement_timeout": "\(Self.foldingTimeout.components.seconds)s"])
        }
    }

    /// The session that reads the gauges.
    var gaugeConfiguration: PostgresConfiguration {
        get throws {
            try PostgresConfiguration(
                connectionString, applicationName: "push-registry gauges",
                settings: ["jit": "off", "statement_timeout": "10s"])
        }
    }

    private var migrator: Migrator {
        get throws { Migrator(try migrationFiles.map(Migration.init), logger: Logger(label: "migrator")) }
    }

    /// Brings the schema up to date.
    ///
    /// - Throws: `UnreachableDatabase`, `MigrationError`.
    func migrate() async throws -> [Migration] {
        try await reaching { try await migrator.migrate(configuration) }
    }

    func migrationStatus() async throws -> MigrationStatus {
        try await reaching { try await migrator.status(configuration) }
    }

    private func reaching<Value>(_ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch let error as PostgresError {
            throw UnreachableDatabase(error: error)
        }
    }

    /// Lends the directory of apps and keys on a migrated database.
    func withDirectory<Value: Sendable>(
        logger: Logger, _ body: (PostgresAppDirectory) async throws -> Value
    ) async throws -> Value {
        _ = try await migrate()
        let loop = EventLoop(name: "command")
        defer { loop.stop() }
        let client = PostgresClient(
            try configuration, on: loop, limits: .init(connectionsMin: 0, connectionsMax: 2), logger: logger)
        let directory = PostgresAppDirectory(postgres: client)
        // Both end with this scope.
        async let _ = client.run()
        async let _ = directory.run()
        return try await body(directory)
    }
}

extension Database {
    /// Lends the audiences of an app.
    func withAudiences<Value: Sendable>(
        of app: App, _ settings: AudienceSettings, logger: Logger, _ body: (AudienceConsole) async throws -> Value
    ) async throws -> Value {
        let loop = EventLoop(name: "audiences")
        defer { loop.stop() }
        let clients = [try audienceConfiguration(settings), try configuration].map {
            PostgresClient($0, on: loop, limits: settings.limits.pool, logger: logger)
        }
        // They end with this scope.
        async let _ = clients[0].run()
        async let _ = clients[1].run()
        return try await body(
            AudienceConsole(
                app: app, audiences: PostgresAudienceStore(postgres: clients[0], limits: settings.limits),
                segments: PostgresSegmentStore(postgres: clients[1]), links: try TimeZoneLinks()))
    }
}

/// A command has no database to work on, and creates none.
struct NoDatabase: Error, CustomStringConvertible {
    let directory: String

    var description: String {
        """
        There is no database: PUSH_REGISTRY_DATABASE_URL (--database-url) is not set, and \(directory) holds no \
        embedded PostgreSQL. Set the one, or name the folder of a service by PUSH_REGISTRY_DATA_DIR (--data-dir). \
        `push-registry serve` creates an embedded PostgreSQL.
        """
    }
}

/// The process that ran the embedded server has stopped it while a command used it: a service does not wait for
/// commands.
struct StoppedDatabase: Error, CustomStringConvertible {
    var description: String {
        """
        The embedded PostgreSQL was stopped by the process that ran it, `push-registry serve` as a rule, while this \
        command used it. What the command had committed is kept. Run it again: it starts PostgreSQL itself, or uses \
        that of a service that runs again.
        """
    }
}

/// A first word with the database failed.
struct UnreachableDatabase: Error, CustomStringConvertible {
    let error: PostgresError

    var description: String {
        """
        The database does not answer. \(error.debugDescription)
        Check that PostgreSQL runs and that PUSH_REGISTRY_DATABASE_URL leads to it.
        """
    }
}

extension Migration {
    /// A file's name is `NNNN_verb_object`.
    init(_ file: MigrationFile) throws {
        let parts = file.name.split(separator: "_", maxSplits: 1)
        guard parts.count == 2, let version = Int(parts[0]) else {
            throw ValidationError("\(file.name) is no name of a migration")
        }
        self.init(version: version, name: String(parts[1]), sql: file.sql)
    }
}
