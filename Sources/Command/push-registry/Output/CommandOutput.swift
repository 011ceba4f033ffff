import ArgumentParser
import EmbeddedPostgres
import Foundation
import Glibc
import Logging
import PostgresClient
import PushRegistry
import RegistryAPI
import StrictJSON
import Telemetry

/// Prints without buffering. `print` buffers if the output is not a terminal, and a service runs for months.
func show(_ text: String) {
    FileHandle.standardOutput.write(Data((text + "\n").utf8))
}

/// Prints one line for people. Names and texts of others cannot begin a second one, nor control the terminal.
func printLine(_ text: String) { print(text.escapedForTerminal) }

/// Prints an object that only the command has.
func printJSON(_ value: some Encodable) throws {
    try printJSON(compact: String(decoding: JSONEncoder().encode(value), as: UTF8.self))
}

/// Prints an object of the API.
func printJSON(_ writer: JSONWriter) throws {
    try printJSON(compact: String(decoding: writer.bytes, as: UTF8.self))
}

/// Prints an object with the members that `members` writes.
func printJSON(_ members: (inout JSONWriter) -> Void) throws {
    var writer = JSONWriter()
    writer.object(members)
    try printJSON(writer)
}

/// Prints `{name: [{…}]}`.
func printJSON<Item>(
    listing name: StaticString, _ items: [Item], _ members: (inout JSONWriter, Item) -> Void
) throws {
    try printJSON { writer in
        writer.name(name)
        writer.array { writer in
            for item in items { writer.object { members(&$0, item) } }
        }
    }
}

/// Prints JSON with line breaks.
func printJSON(compact: String) throws {
    let object = try JSONSerialization.jsonObject(with: Data(compact.utf8))
    let text = try JSONSerialization.data(
        withJSONObject: object, options: [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes])
    print(String(decoding: text, as: UTF8.self))
}

/// A table with padded columns, whose cells are escaped. The last column contains numbers and is right-aligned.
struct TextTable {
    let header: [String]
    let rows: [[String]]

    var text: String {
        let lines = ([header] + rows).map { $0.map(\.escapedForTerminal) }
        let widths = header.indices.map { column in lines.map { $0[column].count }.max() ?? 0 }
        return lines.map { line(of: $0, widths) }.joined(separator: "\n")
    }

    private func line(of cells: [String], _ widths: [Int]) -> String {
        cells.indices.map { column in
            let space = String(repeating: " ", count: widths[column] - cells[column].count)
            return column == cells.count - 1 ? space + cells[column] : cells[column] + space
        }.joined(separator: "  ")
    }
}

/// A line on standard error that shows the progress of a command. Shows nothing unless standard error is a terminal.
struct ProgressLine: Sendable {
    private let isShown = isatty(STDERR_FILENO) == 1

    /// Replaces the line.
    func show(_ text: String) {
        // Carriage return, then "erase to the end of the line".
        if isShown { FileHandle.standardError.write(Data("\r\u{1B}[K\(text)".utf8)) }
    }

    func clear() { show("") }
}

extension AuditEntry {
    /// The entry of a change by a command. Its actor is the user of the system.
    static func ofCommand(_ action: Action, _ target: String, members: [String] = []) -> AuditEntry {
        AuditEntry(action.rawValue, target, members: members, actor: "cli:\(NSUserName())")
    }

    /// Writes a line of the audit log on standard error, as the service does for the call that makes the same change.
    func log(of app: some CustomStringConvertible, _ more: Logger.Metadata = [:]) {
        let common: Logger.Metadata = ["actor": "\(actor)", "app": "\(app)"]
        Logger(label: "audit").notice(
            "\(message)", metadata: common.merging(metadata) { $1 }.merging(more) { $1 })
    }
}

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
