import Foundation
import Glibc
import Logging
import Testing

@testable import EmbeddedPostgres

/// Writes no log: the tests check behaviour only.
let silent = Logger(label: "tests") { _ in SwiftLogNoOpLogHandler() }

extension EmbeddedPostgres {
    static func start(
        _ directory: String, settings: [String: String] = [:]
    ) async throws(EmbeddedPostgresError) -> EmbeddedPostgres {
        try await start(directory: directory, settings: settings, logger: silent)
    }

    /// The output of `psql`, run as the tests' own user, like the service's connections.
    @discardableResult
    nonisolated func query(_ sql: String, over connection: String? = nil) async throws -> String {
        try await ServerCommand(programs: PostgresBinaries.find(forData: "").folder, user: nil).run(
            "psql",
            ["--no-psqlrc", "--tuples-only", "--no-align", "-d", connection ?? connectionString, "-c", sql])
    }

    nonisolated func expect(
        _ sql: String, over connection: String? = nil, is expected: String,
        at location: SourceLocation = #_sourceLocation
    ) async throws {
        let output = try await query(sql, over: connection)
        #expect(output == expected, sourceLocation: location)
    }
}

/// Lends a folder that the server's user can enter, and removes it afterwards.
func withFolder<Value>(
    under parent: String = "/tmp", _ body: (String) async throws -> Value
) async throws -> Value {
    let folder = "\(parent)/push-registry-tests-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    chmod(folder, 0o755)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    return try await body(folder)
}

/// Lends the server of `folder` and stops it, however `body` ends.
@discardableResult
func withServer<Value: Sendable>(
    in folder: String, settings: [String: String] = [:], _ body: (EmbeddedPostgres) async throws -> Value
) async throws -> Value {
    let server = try await EmbeddedPostgres.start(folder, settings: settings)
    let result: Result<Value, any Error>
    do { result = .success(try await body(server)) } catch { result = .failure(error) }
    try await server.stop(.immediate)
    return try result.get()
}

/// Lends a server in a folder of its own.
func withServer(_ body: (_ server: EmbeddedPostgres, _ folder: String) async throws -> Void) async throws {
    try await withFolder { folder in try await withServer(in: folder) { try await body($0, folder) } }
}

/// The `host` of a connection string.
func socketFolder(_ connectionString: String) -> String {
    connectionString.split(separator: "'").dropFirst().first.map(String.init) ?? ""
}

/// The folder of a throw-away cluster.
func clusterFolder(_ server: EmbeddedPostgres) -> String {
    socketFolder(server.connectionString).replacing("/postgres/socket", with: "")
}
