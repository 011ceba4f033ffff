import ArgumentParser
import EmbeddedPostgres
import Foundation
import PostgresClient

/// Prints an error to standard error, without the usage text.
///
/// - Returns: the exit code to throw, 64.
func refusal(_ text: String) -> ExitCode {
    FileHandle.standardError.write(Data("Error: \(text)\n".utf8))
    return .validationFailure
}

/// The exit code of commands that could not check anything because the database is missing, cannot be reached or lacks
/// migrations. Code 1 means that a check failed.
let databaseUnreachable = ExitCode(2)

/// Prints the error and exits with `databaseUnreachable` if the database cannot be used.
func exitingIfUnreachable<Value>(_ body: () async throws -> Value) async throws -> Value {
    do {
        return try await body()
    } catch let error where error.meansUnreachableDatabase {
        FileHandle.standardError.write(Data("Error: \(error)\n".utf8))
        throw databaseUnreachable
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
