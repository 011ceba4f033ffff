import ArgumentParser
import Foundation
import PostgresClient
import PushRegistry
import RegistryAPI
import RegistryJobs
import RegistryStore

/// Lends the directory of apps and keys of the command's database.
func withDirectory<Value: Sendable>(
    _ options: CommonOptions, isQuiet: Bool = false, _ body: (PostgresAppDirectory) async throws -> Value
) async throws -> Value {
    try await Database.withAttached(options.settings(), isQuiet: isQuiet) { try await $0.withDirectory(body) }
}

extension PostgresAppDirectory {
    /// What stores of a command need, which use the directory's client.
    nonisolated var resources: LoopResources { LoopResources(postgres: postgres) }
}

/// Lends the audiences of an app in the command's database.
func withAudiences<Value: Sendable>(
    _ options: CommonOptions, _ audiences: SettingOptions<Setting.Audiences>, app: String, isQuiet: Bool,
    _ body: (AudienceConsole) async throws -> Value
) async throws -> Value {
    let settings = try await options.settings(audiences.texts)
    return try await Database.withAttached(settings, isQuiet: isQuiet) { database in
        let found = try await database.withDirectory { try await $0.current().app(app) }
        return try await database.withAudiences(of: found, settings.audiences, body)
    }
}

extension PostgresAppDirectory {
    /// Creates the app with the default policy. An app whose stored policy cannot be used exists, too.
    ///
    /// - Returns: whether it was created.
    func createIfMissing(_ id: AppID, recording entry: AuditEntry) async throws -> Bool {
        let known = try await current()
        guard known.apps[id] == nil, known.unusable[id] == nil else { return false }
        struct Exists: Error {}
        do {
            _ = try await change(id) { stored in
                guard stored == nil else { throw Exists() }
                return PolicyChange(.standard, entry)
            }
            return true
        } catch is Exists {
            // Somebody else has just created it.
            return false
        }
    }
}

extension DirectorySnapshot {
    func app(_ text: String) throws -> App {
        guard let app = apps[try text.asAppID()] else {
            if let unusable = unusable[try text.asAppID()] {
                throw refusal("The stored policy of \(text) cannot be used: \(unusable.reason)")
            }
            let nearest = NearestName.of(text, among: apps.keys.map(\.rawValue)).map { "Did you mean \($0)? " } ?? ""
            throw refusal(
                "The app \(text) does not exist. \(nearest)Create it: push-registry apps create \(text)")
        }
        return app
    }
}

/// The settings of a service's sessions, which depend on whether the database is distributed.
struct ServiceSessions: Sendable {
    let isDistributed: Bool
    /// Tables that must be distributed as well.
    let missingTables: [String]
    let registrations: PostgresConfiguration
    let folding: PostgresConfiguration
}

// The settings of the database sessions, by purpose.
extension Database {
    var configuration: PostgresConfiguration {
        get throws { try PostgresConfiguration(connectionString) }
    }

    func serviceSessions() async throws -> ServiceSessions {
        let missingTables = try await Distribution.missingTables(in: configuration)
        let isDistributed = missingTables != nil
        return ServiceSessions(
            isDistributed: isDistributed, missingTables: missingTables ?? [],
            registrations: try registrationConfiguration(isDistributed: isDistributed),
            folding: try foldingConfiguration(isDistributed: isDistributed))
    }

    /// The sessions of registrations. Their statements are written for index look-ups of many keys, so other plans are
    /// disabled, whatever the statistics say. No statement may hold locks longer than a request lasts.
    private func registrationConfiguration(isDistributed: Bool) throws -> PostgresConfiguration {
        var settings = [
            "jit": "off", "statement_timeout": "10s",
            // A batch must not wait longer for a lock: all its items wait. On Citus, a statement takes longer.
            "lock_timeout": isDistributed ? "100ms" : "25ms",
            "idle_in_transaction_session_timeout": "15s",
        ]
        if isDistributed {
            // Citus finds the shard by the values of a statement.
            settings["plan_cache_mode"] = "auto"
            settings["citus.propagate_set_commands"] = "local"
        } else {
            settings["plan_cache_mode"] = "force_generic_plan"
            for method in ["seqscan", "hashjoin", "mergejoin"] { settings["enable_\(method)"] = "off" }
        }
        return try PostgresConfiguration(
            connectionString, settings: settings,
            transactionSettings: isDistributed ? ["SET LOCAL lock_timeout = '100ms'"] : [])
    }

    /// The sessions of audience queries. Filters vary, so the planner is free to choose.
    func audienceConfiguration(_ settings: AudienceSettings) throws -> PostgresConfiguration {
        try PostgresConfiguration(
            settings.readDatabaseURL ?? connectionString, applicationName: "push-registry audiences",
            settings: settings.limits.sessionSettings)
    }

    /// The timeout of one statement of the folding session.
    static let foldingTimeout = Duration.seconds(30)

    /// The session of the background work, which folds the deltas of the roll-up.
    private func foldingConfiguration(isDistributed: Bool) throws -> PostgresConfiguration {
        var settings = ["jit": "off", "statement_timeout": "\(Self.foldingTimeout.components.seconds)s"]
        if isDistributed { settings["citus.propagate_set_commands"] = "local" }
        return try PostgresConfiguration(
            connectionString, applicationName: BackgroundSession.name, settings: settings,
            transactionSettings: isDistributed ? ["SET LOCAL lock_timeout = '5s'"] : [])
    }

    /// The session that reads the gauges.
    var gaugeConfiguration: PostgresConfiguration {
        get throws {
            try PostgresConfiguration(
                connectionString, applicationName: "push-registry gauges",
                settings: ["jit": "off", "statement_timeout": "10s"])
        }
    }
}
