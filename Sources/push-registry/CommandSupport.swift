import Foundation
import Logging
import PushRegistry
import RegistryAPI
import RegistryStore

/// Lends the directory of apps and keys of the database that the options name.
func withDirectory<Value: Sendable>(
    _ options: CommonOptions, _ body: (PostgresAppDirectory) async throws -> Value
) async throws -> Value {
    let settings = try await options.settings()
    let logger = ProcessLogging.start(settings)
    let database = try await Database.attach(settings, logger: logger)
    do {
        let value = try await database.withDirectory(logger: logger, body)
        try await database.stop()
        return value
    } catch {
        try await database.stop()
        throw error
    }
}

/// Prints at once, also where the output is no terminal: of a service that runs for months, `print` would keep it back.
func show(_ text: String) {
    FileHandle.standardOutput.write(Data((text + "\n").utf8))
}

func printJSON(_ value: some Encodable) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    print(String(decoding: try encoder.encode(value), as: UTF8.self))
}

/// Lends the audiences of an app of the database that the options name.
func withAudiences<Value: Sendable>(
    _ options: CommonOptions, _ audiences: AudienceOptions, app: String,
    _ body: (AudienceConsole) async throws -> Value
) async throws -> Value {
    let settings = try await options.settings(audiences.flags)
    let logger = ProcessLogging.start(settings)
    let database = try await Database.attach(settings, logger: logger)
    do {
        let found = try await database.withDirectory(logger: logger) { try await $0.current().app(app) }
        let value = try await database.withAudiences(of: found, settings.audiences, logger: logger, body)
        try await database.stop()
        return value
    } catch {
        try await database.stop()
        throw error
    }
}
