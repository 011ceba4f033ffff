import Foundation
import Subprocess

/// Runs PostgreSQL's own programs as the server's user, away from the terminal and from the caller's environment.
struct ServerCommand: Sendable {
    /// What a program may print; the largest, initdb's, is about 2 KiB.
    private static let outputBytesMax = 256 * 1024

    /// The folder that holds the programs.
    let programs: String
    /// Whom they run as; nil is this process's own user.
    let user: ServerUser?

    /// Runs a program to its end and returns what it printed, both streams together.
    ///
    /// Cancelling the calling task does not end the program: a server must be stoppable while everything is being
    /// cancelled, and a creation is not to be torn in half. Every program here ends by itself soon or at its deadline.
    ///
    /// - Throws: `commandFailed` when it cannot be started or its exit status is not 0.
    @discardableResult
    func run(
        _ program: String, _ arguments: [String], input: String = ""
    ) async throws(EmbeddedPostgresError) -> String {
        let result = await uncancelled { try await execute(program, arguments, input: input) }
        switch result {
        case .success((true, let output)): return output
        case .success((false, let output)): throw .commandFailed(command: program, output: output)
        case .failure(let error): throw .commandFailed(command: program, output: "\(error)")
        }
    }

    private func execute(
        _ program: String, _ arguments: [String], input: String
    ) async throws -> (succeeded: Bool, output: String) {
        let words = identity + ["env", "--chdir=/", program] + arguments
        let outcome = try await Subprocess.run(
            .name(words[0]), arguments: Arguments(Array(words.dropFirst())), environment: environment,
            platformOptions: options, input: .string(input),
            output: .string(limit: Self.outputBytesMax), error: .combinedWithOutput)
        let output = outcome.standardOutput.trimmingCharacters(in: .whitespacesAndNewlines)
        return (outcome.terminationStatus.isSuccess, output)
    }

    /// Nothing of the caller's: PGPORT, PGDATA, PGOPTIONS and the like would lead the programs elsewhere.
    private var environment: Environment {
        .custom(["PATH": "\(programs):/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/"])
    }

    /// What goes before a program that another user is to run, from a folder that this user can surely enter.
    ///
    /// Not `PlatformOptions.userID`: glibc's `setuid` asks every thread of the process to follow, and in a child forked
    /// from a process with many threads it can wait for ever for one that only the parent has.
    private var identity: [String] {
        guard let user, user.isAnother else { return [] }
        return ["setpriv", "--reuid=\(user.userID)", "--regid=\(user.groupID)", "--clear-groups", "--"]
    }

    /// Ctrl-C on the service's terminal reaches its session only: the server outlives the drain.
    private var options: PlatformOptions {
        var options = PlatformOptions()
        options.createSession = true
        return options
    }
}

/// Runs `body` to its end even when the calling task is cancelled.
func uncancelled<Value: Sendable>(
    _ body: @escaping @Sendable () async throws -> Value
) async -> Result<Value, any Error> {
    await Task { try await body() }.result
}

/// Waits until `condition` holds, looking every few milliseconds, cancelled or not.
///
/// - Returns: false when it does not hold within `deadline`.
func becomesTrue(within deadline: Duration, _ condition: @escaping @Sendable () -> Bool) async -> Bool {
    let outcome = await uncancelled {
        let end = ContinuousClock.now + deadline
        while !condition() {
            guard ContinuousClock.now < end else { return false }
            try await Task.sleep(for: .milliseconds(5))
        }
        return true
    }
    return (try? outcome.get()) ?? false
}
