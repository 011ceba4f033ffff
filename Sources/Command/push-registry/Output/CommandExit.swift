import ArgumentParser
import EmbeddedPostgres
import Foundation
import PostgresClient
import Telemetry

/// Prints an error to standard error, without the usage text. Its lines stay, and are escaped.
///
/// - Returns: the exit code to throw, 64 by default.
func refusal(_ text: String, _ code: ExitCode = .validationFailure) -> ExitCode {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { String($0).escapedForTerminal }
    FileHandle.standardError.write(Data("Error: \(lines.joined(separator: "\n"))\n".utf8))
    return code
}

/// The exit code of commands that could not check anything because the database is missing, cannot be reached or lacks
/// migrations. Code 1 means that a check failed.
let databaseUnreachable = ExitCode(2)

/// Prints the error and exits with `databaseUnreachable` if the database cannot be used.
func exitingIfUnreachable<Value>(_ body: () async throws -> Value) async throws -> Value {
    do {
        return try await body()
    } catch let error where error.meansUnreachableDatabase {
        throw refusal("\(error)", databaseUnreachable)
    }
}

extension Error {
    fileprivate var meansUnreachableDatabase: Bool {
        switch self as any Error {
        case is NoDatabase, is StoppedDatabase, is UnreachableDatabase, is OutdatedSchema, is SharedSessions,
            is EmbeddedPostgresError, is PostgresError:
            true
        case MigrationError.locked: true
        default: false
        }
    }
}
