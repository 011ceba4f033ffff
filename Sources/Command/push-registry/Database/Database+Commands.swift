import ArgumentParser
import Foundation
import Logging
import PushRegistry
import RegistryAPI
import RegistryStore

/// Lends the directory of apps and keys of the command's database.
func withDirectory<Value: Sendable>(
    _ options: CommonOptions, isQuiet: Bool = false, _ body: (PostgresAppDirectory) async throws -> Value
) async throws -> Value {
    let settings = try await options.settings()
    let logger = ProcessLogging.start(settings)
    return try await Database.withAttached(settings, isQuiet: isQuiet, logger: logger) { database in
        try await database.withDirectory(logger: logger, body)
    }
}

/// Lends the directory and the topics of the command's database.
func withTopics<Value: Sendable>(
    _ options: CommonOptions, isQuiet: Bool, _ body: (PostgresAppDirectory, PostgresTopicStore) async throws -> Value
) async throws -> Value {
    let settings = try await options.settings()
    let logger = ProcessLogging.start(settings)
    return try await Database.withAttached(settings, isQuiet: isQuiet, logger: logger) { database in
        try await database.withTopics(logger: logger, body)
    }
}

extension Database {
    /// Lends the directory and the topics.
    func withTopics<Value: Sendable>(
        logger: Logger, _ body: (PostgresAppDirectory, PostgresTopicStore) async throws -> Value
    ) async throws -> Value {
        try await withDirectory(logger: logger) { directory in
            try await body(
                directory, PostgresTopicStore(LoopResources(postgres: directory.postgres)))
        }
    }
}

/// Lends the audiences of an app in the command's database.
func withAudiences<Value: Sendable>(
    _ options: CommonOptions, _ audiences: SettingOptions<Setting.Audiences>, app: String, isQuiet: Bool,
    _ body: (AudienceConsole) async throws -> Value
) async throws -> Value {
    let settings = try await options.settings(audiences.texts)
    let logger = ProcessLogging.start(settings)
    return try await Database.withAttached(settings, isQuiet: isQuiet, logger: logger) { database in
        let found = try await database.withDirectory(logger: logger) { try await $0.current().app(app) }
        return try await database.withAudiences(of: found, settings.audiences, logger: logger, body)
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
