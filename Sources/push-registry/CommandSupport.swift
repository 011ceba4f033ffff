import ArgumentParser
import EmbeddedPostgres
import Foundation
import Logging
import PostgresClient
import PushRegistry
import RegistryAPI
import RegistryStore

/// Lends the directory of apps and keys of the database that the options name.
func withDirectory<Value: Sendable>(
    _ options: CommonOptions, isQuiet: Bool = false, _ body: (PostgresAppDirectory) async throws -> Value
) async throws -> Value {
    let settings = try await options.settings()
    let logger = ProcessLogging.start(settings)
    return try await Database.withAttached(settings, isQuiet: isQuiet, logger: logger) { database in
        try await database.withDirectory(logger: logger, body)
    }
}

/// Lends the audiences of an app of the database that the options name.
func withAudiences<Value: Sendable>(
    _ options: CommonOptions, _ audiences: AudienceOptions, app: String, isQuiet: Bool,
    _ body: (AudienceConsole) async throws -> Value
) async throws -> Value {
    let settings = try await options.settings(audiences.flags)
    let logger = ProcessLogging.start(settings)
    return try await Database.withAttached(settings, isQuiet: isQuiet, logger: logger) { database in
        let found = try await database.withDirectory(logger: logger) { try await $0.current().app(app) }
        return try await database.withAudiences(of: found, settings.audiences, logger: logger, body)
    }
}

extension String {
    /// The text itself, or what the file holds that stands behind an `@`.
    func orContentsOfFile() throws -> String {
        guard hasPrefix("@") else { return self }
        let file = String(dropFirst())
        guard let text = try? String(contentsOf: URL(filePath: file), encoding: .utf8) else {
            throw ValidationError("\(file) cannot be read.")
        }
        return text
    }
}

/// Says on the standard error what the command line got wrong, without the usage text, which would not help.
///
/// - Returns: the exit status to throw, 64.
func refusal(_ text: String) -> ExitCode {
    FileHandle.standardError.write(Data("Error: \(text)\n".utf8))
    return .validationFailure
}

/// The exit status of commands whose others say that something is broken: the database could not be looked at.
let couldNotLook = ExitCode(2)

/// Ends with `couldNotLook` if the database is not there or does not answer, after a sentence on the standard error.
func lookingAtDatabase<Value>(_ body: () async throws -> Value) async throws -> Value {
    do {
        return try await body()
    } catch let error where error.isAboutReachingDatabase {
        FileHandle.standardError.write(Data("Error: \(error)\n".utf8))
        throw couldNotLook
    }
}

extension Error {
    fileprivate var isAboutReachingDatabase: Bool {
        switch self as any Error {
        case is NoDatabase, is StoppedDatabase, is UnreachableDatabase, is EmbeddedPostgresError, is PostgresError: true
        case MigrationError.locked: true
        default: false
        }
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
