import Foundation
import Subprocess
import SystemPackage

/// A program that the benchmark runs. (Foundation's `Process` passes on the blocked signals of the starting thread, and
/// pgbench needs SIGALRM to end.)
struct Binary: Sendable {
    private static let outputBytesMax = 1_024 * 1_024
    private static let endDeadline = Duration.seconds(10)

    let url: URL

    /// The product; by default the binary in the benchmark's own folder.
    static func pushRegistry(_ path: String?) throws -> Binary {
        let own = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
        let url = path.map { URL(filePath: $0) } ?? own.deletingLastPathComponent().appending(path: "push-registry")
        guard FileManager.default.isExecutableFile(atPath: url.path) else {
            throw BenchmarkFailure("\(url.path) does not exist: make build, or use --binary")
        }
        return Binary(url: url)
    }

    /// A program of the newest PostgreSQL; Debian does not put them on the PATH.
    static func postgres(_ name: String) throws -> Binary {
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib/postgresql")) ?? []
        let folders = versions.compactMap { Int($0) }.sorted(by: >).map { "/usr/lib/postgresql/\($0)/bin" }
        let path = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
        let found = (folders + path).map { URL(filePath: $0).appending(path: name) }
            .first { FileManager.default.isExecutableFile(atPath: $0.path) }
        guard let found else { throw BenchmarkFailure("\(name) is not installed: apt-get install postgresql") }
        return Binary(url: found)
    }

    /// Runs the program until it exits and returns its output, both streams combined.
    @discardableResult
    func run(_ arguments: [String], environment: [String: String] = [:]) async throws -> String {
        let outcome = try await Subprocess.run(
            .path(FilePath(url.path)), arguments: Arguments(arguments), environment: Self.environment(environment),
            output: .string(limit: Self.outputBytesMax), error: .combinedWithOutput)
        guard outcome.terminationStatus.isSuccess else {
            throw BenchmarkFailure("\(url.lastPathComponent) failed: \(outcome.standardOutput)")
        }
        return outcome.standardOutput
    }

    /// Lends the running program to `body`, with its output in the file `log`, and ends it with these
    /// signals, if the first one does not.
    func with<Value: Sendable>(
        _ arguments: [String], environment: [String: String], log: URL, end signals: [Signal] = [.terminate],
        _ body: (Int32) async throws -> Value
    ) async throws -> Value {
        let output = try FileDescriptor.open(
            FilePath(log.path), .writeOnly, options: [.create, .truncate], permissions: .ownerReadWrite)
        let outcome = try await Subprocess.run(
            .path(FilePath(url.path)), arguments: Arguments(arguments), environment: Self.environment(environment),
            input: .none, output: .fileDescriptor(output, closeAfterSpawningProcess: true), error: .combinedWithOutput
        ) { execution in
            let result: Result<Value, any Error>
            do { result = .success(try await body(execution.processIdentifier.value)) } catch {
                result = .failure(error)
            }
            await execution.teardown(
                using: signals.map { .send(signal: $0, allowedDurationToNextStep: Self.endDeadline) })
            return result
        }
        return try outcome.closureResult.get()
    }

    /// Contains nothing from the caller: PUSH_REGISTRY_* and PG* would change what the programs do.
    private static func environment(_ variables: [String: String]) -> Environment {
        let common = ["PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/"]
        return .custom(
            Dictionary(
                uniqueKeysWithValues: common.merging(variables) { $1 }.map { (Environment.Key(stringLiteral: $0), $1) })
        )
    }
}
