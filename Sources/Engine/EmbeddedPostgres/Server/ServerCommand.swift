import Foundation
import Subprocess

/// Runs PostgreSQL's own programs as the server's user, detached from the terminal and from the caller's environment.
package struct ServerCommand: Sendable {
    /// The most output of a program; the longest, initdb's, has about 2 KiB.
    private static let outputBytesMax = 256 * 1024

    /// The folder that holds the programs.
    let programs: String
    /// The user that they run as; nil for this process's own user.
    let user: ServerUser?
    /// Variables besides those that every program gets. The program that changes the user does not see them; a server
    /// that the program starts does.
    var variables: [String: String] = [:]

    package init(programs: String, user: ServerUser?) {
        (self.programs, self.user) = (programs, user)
    }

    /// Runs a program until it exits and returns its output, both streams combined.
    ///
    /// Cancelling the calling task does not stop the program: it must be possible to stop a server during cancellation,
    /// and a creation must not be interrupted halfway. Every program here ends soon or at its own deadline.
    ///
    /// - Throws: `commandFailed` if it cannot be started or its exit status is not 0.
    @discardableResult
    func run(
        _ program: String, _ arguments: [String], input: String = ""
    ) async throws(EmbeddedPostgresError) -> String {
        let result = await ignoringCancellation { try await execute(program, arguments, input: input) }
        switch result {
        case .success((true, let output)): return output
        case .success((false, let output)): throw .commandFailed(command: program, output: output)
        case .failure(let error): throw .commandFailed(command: program, output: "\(error)")
        }
    }

    /// Runs a script of psql.
    ///
    /// - Parameter address: libpq keywords.
    /// - Throws: `commandFailed` at the first error.
    func execute(_ script: String, at address: String) async throws(EmbeddedPostgresError) {
        try await run(
            "psql", ["--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--dbname", address], input: script)
    }

    private func execute(
        _ program: String, _ arguments: [String], input: String
    ) async throws -> (succeeded: Bool, output: String) {
        let own = variables.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        let words = identity + ["env", "--chdir=/"] + own + [program] + arguments
        let outcome = try await Subprocess.run(
            .name(words[0]), arguments: Arguments(Array(words.dropFirst())), environment: environment,
            platformOptions: options, input: .string(input),
            output: .string(limit: Self.outputBytesMax), error: .combinedWithOutput)
        let output = outcome.standardOutput.trimmingCharacters(in: .whitespacesAndNewlines)
        return (outcome.terminationStatus.isSuccess, output)
    }

    /// Inherits nothing from the caller: PGPORT, PGDATA, PGOPTIONS and the like would change what the programs do.
    private var environment: Environment {
        .custom(["PATH": "\(programs):/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/"])
    }

    /// The prefix of a command that another user runs. The command's folder is one that every user can enter.
    ///
    /// Not `PlatformOptions.userID`: glibc's `setuid` signals every thread of the process, and in a child forked from a
    /// process with many threads it can wait for ever for a thread that only the parent has.
    private var identity: [String] {
        guard let user, user.isAnother else { return [] }
        return ["setpriv", "--reuid=\(user.userID)", "--regid=\(user.groupID)", "--clear-groups", "--"]
    }

    /// Ctrl-C on the service's terminal signals only its own session, so the server outlives the service's drain.
    private var options: PlatformOptions {
        var options = PlatformOptions()
        options.createSession = true
        return options
    }
}

/// Runs `body` to its end, even if the calling task is cancelled.
func ignoringCancellation<Value: Sendable>(
    _ body: @escaping @Sendable () async throws -> Value
) async -> Result<Value, any Error> {
    await Task { try await body() }.result
}

/// Waits until `condition` is true, checking every few milliseconds, even if the task is cancelled.
///
/// - Returns: false if it is not true within `deadline`.
func becomesTrue(within deadline: Duration, _ condition: @escaping @Sendable () -> Bool) async -> Bool {
    let outcome = await ignoringCancellation {
        let end = ContinuousClock.now + deadline
        while !condition() {
            guard ContinuousClock.now < end else { return false }
            try await Task.sleep(for: .milliseconds(5))
        }
        return true
    }
    return (try? outcome.get()) ?? false
}

/// The settings for starting a server: the caller's override the defaults, and the address overrides both.
package struct ServerSettings: Sendable {
    /// For a server that keeps data. Other settings have PostgreSQL's own default: `fsync` is on.
    static let lasting: [String: String] = [
        "listen_addresses": "",
        "max_connections": "100",
        "shared_buffers": "128MB",
        "wal_level": "replica",
        "timezone": "UTC",
        "log_timezone": "UTC",
        // One file per weekday, overwritten a week later.
        "logging_collector": "on",
        "log_filename": "postgresql-%a.log",
        "log_truncate_on_rotation": "on",
        "log_rotation_age": "1d",
        "log_rotation_size": "0",
        // The details of an error quote the row, and rows contain push tokens.
        "log_error_verbosity": "terse",
        "log_parameter_max_length_on_error": "0",
    ]

    /// For a server that is thrown away. Without `fsync` its data survives its own crash, but not a crash of the
    /// machine.
    package static let throwaway = lasting.merging(
        ["logging_collector": "off", "fsync": "off", "shared_buffers": "32MB"], uniquingKeysWith: { $1 })

    private(set) var values: [String: String]

    init(
        _ settings: [String: String], over defaults: [String: String], folder: ClusterFolder, address: ServerAddress,
        listensOnLoopback: Bool
    ) {
        values = defaults.merging(settings, uniquingKeysWith: { $1 })
        values["log_directory"] = folder.log
        values["port"] = "\(address.port)"
        // The value is a list; double quotes make the path one item.
        values["unix_socket_directories"] = "\"\(address.socketFolder)\""
        if listensOnLoopback { values["listen_addresses"] = "127.0.0.1" }
    }
}

/// The socket and port that a server listens at.
struct ServerAddress: Equatable, Sendable {
    /// PostgreSQL's default port; on a Unix socket it is only a part of the file's name.
    static let defaultPort: UInt16 = 5432

    let socketFolder: String
    let port: UInt16

    /// libpq keywords for the Unix socket ("Connection Strings" in its manual).
    func connectionString(user: String, database: String) -> String {
        "host='\(Self.escaped(socketFolder))' port=\(port) user=\(user) dbname=\(database)"
    }

    /// libpq keywords for the one of this and another server that accepts writes.
    func connectionString(user: String, database: String, withFailoverTo other: ServerAddress) -> String {
        "host='\(Self.escaped(socketFolder)),\(Self.escaped(other.socketFolder))' port=\(port),\(other.port) "
            + "user=\(user) dbname=\(database) target_session_attrs=read-write"
    }

    /// libpq keywords for TCP on the loopback interface.
    func loopbackConnectionString(user: String, database: String) -> String {
        "host=127.0.0.1 port=\(port) user=\(user) dbname=\(database)"
    }

    /// Escapes a value in single quotes: a backslash precedes each quote and backslash.
    private static func escaped(_ value: String) -> String {
        String(value.flatMap { $0 == "'" || $0 == "\\" ? ["\\", $0] : [$0] })
    }
}
