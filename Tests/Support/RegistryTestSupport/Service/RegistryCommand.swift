import EmbeddedPostgres
import Foundation

/// One run of the command `push-registry`: the binary that was built with the tests, or the one that
/// `PUSH_REGISTRY_TEST_BINARY` names.
public final class RegistryCommand: @unchecked Sendable {
    private let process = Process()
    private let standardOutput: OutputFile
    private let standardError: OutputFile

    /// Starts it.
    ///
    /// - Parameters:
    ///   - environment: the command gets only these variables, `PATH`, `HOME` and `TZ`.
    ///   - socket: a listening socket that is passed to it, as systemd does (sd_listen_fds(3)).
    ///   - descriptorsMax: the hard limit of its open files.
    ///   - descriptorsSoftMax: the soft limit of its open files at its start.
    ///   - log: receives standard error instead of the file that the property `log` reads.
    ///   - directory: the working directory; by default that of temporary files, so that no `.push-registry` is created
    ///     elsewhere.
    public init(
        _ arguments: [String], environment: [String: String] = [:], socket: TestListener? = nil,
        descriptorsMax: Int? = nil, descriptorsSoftMax: Int? = nil, log: FileHandle? = nil,
        in directory: String? = nil
    ) throws {
        standardOutput = try OutputFile()
        standardError = try OutputFile()
        let inherited = ProcessInfo.processInfo.environment.filter { ["PATH", "HOME", "TZ"].contains($0.key) }
        process.executableURL = Self.binary
        process.arguments = arguments
        process.environment = inherited.merging(environment) { $1 }
        process.currentDirectoryURL = directory.map { URL(filePath: $0) } ?? FileManager.default.temporaryDirectory
        process.standardInput = socket?.handle ?? FileHandle.nullDevice
        if socket != nil { passSocket() }
        if let descriptorsMax { execute(after: "ulimit -n \(descriptorsMax)") }
        if let descriptorsSoftMax { execute(after: "ulimit -S -n \(descriptorsSoftMax)") }
        process.standardOutput = standardOutput.handle
        process.standardError = log ?? standardError.handle
        try process.run()
    }

    /// Foundation's processes inherit only the three standard descriptors, and only the process knows
    /// its own id. So a shell moves the socket to descriptor 3 and then executes the command.
    private func passSocket() {
        execute(after: "export LISTEN_PID=$$ LISTEN_FDS=1 LISTEN_FDNAMES=http", with: "3<&0 0</dev/null")
    }

    /// Lets a shell run a command and then become the process.
    private func execute(after command: String, with redirections: String = "") {
        process.arguments =
            ["-c", #"\#(command); exec "$0" "$@" \#(redirections)"#, process.executableURL?.path ?? ""]
            + (process.arguments ?? [])
        process.executableURL = URL(filePath: "/bin/sh")
    }

    /// By default the one next to the running test bundle.
    private static var binary: URL {
        if let path = ProcessInfo.processInfo.environment["PUSH_REGISTRY_TEST_BINARY"] { return URL(filePath: path) }
        return URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
            .appending(path: "push-registry")
    }

    /// Standard output so far.
    public var output: String { standardOutput.text }

    /// Standard error so far.
    public var log: String { standardError.text }

    public var isRunning: Bool { process.isRunning }

    /// The peak of its resident memory in megabytes: proc(5), `VmHWM`.
    public func residentMegabytesMax() throws -> Int {
        let status = try String(contentsOfFile: "/proc/\(process.processIdentifier)/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        return (line?.split(separator: " ").compactMap { Int($0) }.first ?? 0) / 1_024
    }

    /// The number of its open files: proc(5), `fd`.
    public func openFiles() throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process.processIdentifier)/fd").count
    }

    /// The limits of its open files: proc(5), `limits`. Nil for a limit that is no number.
    public func openFilesMax() throws -> (soft: Int?, hard: Int?) {
        let limits = try String(contentsOfFile: "/proc/\(process.processIdentifier)/limits", encoding: .utf8)
        let line = limits.split(separator: "\n").first { $0.hasPrefix("Max open files") }
        // The unit stands last.
        let numbers = (line ?? "").split(separator: " ").suffix(3)
        return (numbers.first.flatMap { Int($0) }, numbers.dropFirst().first.flatMap { Int($0) })
    }

    public func send(_ signal: CInt) {
        guard process.isRunning else { return }
        kill(process.processIdentifier, signal)
    }

    /// Waits until it exits.
    ///
    /// - Returns: its exit status, or 128 and the signal that ended it.
    public func exitStatus(within limit: Duration = .seconds(60)) async throws -> Int32 {
        try await eventually("the command ends", within: limit) { !process.isRunning }
        return process.terminationStatus + (process.terminationReason == .uncaughtSignal ? 128 : 0)
    }

    /// Runs a command and waits until it exits.
    public static func run(
        _ arguments: [String], environment: [String: String] = [:], in directory: String? = nil
    ) async throws -> (status: Int32, output: String, log: String) {
        let command = try RegistryCommand(arguments, environment: environment, in: directory)
        do {
            let status = try await command.exitStatus()
            return (status, command.output, command.log)
        } catch {
            command.send(SIGKILL)
            throw error
        }
    }
}

extension Registry {
    /// Runs a command on the registry's database and waits until it exits.
    public func run(
        _ arguments: [String], environment: [String: String] = [:], in directory: String? = nil
    ) async throws -> (status: Int32, output: String, log: String) {
        let database = ["PUSH_REGISTRY_DATABASE_URL": cluster.connectionString]
        return try await RegistryCommand.run(
            arguments, environment: database.merging(environment) { $1 }, in: directory)
    }
}

/// The output of a child process, in a file: a full pipe without a reader would block the child.
final class OutputFile: Sendable {
    private let url: URL
    let handle: FileHandle

    init() throws {
        url = FileManager.default.temporaryDirectory.appending(path: "push-registry-output-\(UUID().uuidString)")
        try Data().write(to: url)
        handle = try FileHandle(forWritingTo: url)
    }

    deinit {
        try? handle.close()
        try? FileManager.default.removeItem(at: url)
    }

    var text: String { (try? String(contentsOf: url, encoding: .utf8)) ?? "" }
}
