import Foundation

/// Programs that tests run.
enum Toolchain {
    /// The folder of `Package.swift`.
    static let packageRoot = URL(filePath: #filePath).resolvingSymlinksInPath()
        .deletingLastPathComponent().appending(path: "../../..").standardized

    /// The blocks of code in this language.
    ///
    /// - Parameter page: its path in the package.
    static func blocks(_ language: String, of page: String) throws -> [String] {
        try String(contentsOf: packageRoot.appending(path: page), encoding: .utf8)
            .components(separatedBy: "```\(language)\n").dropFirst().map { $0.components(separatedBy: "```\n")[0] }
    }

    /// The pages about the client whose Swift samples are compiled.
    static let clientPages = [
        "Sources/Command/push-registry/Documentation.docc/SwiftApps.md",
        "Sources/Command/push-registry/Documentation.docc/LiveActivities.md",
        "Sources/Client/PushRegistryClient/PushRegistryClient.docc/KeepAnAppRegistered.md",
        "Sources/Client/PushRegistryClient/PushRegistryClient.docc/PushRegistryClient.md",
    ]

    static var isInstalled: Bool { has("swift") && has("git") }

    /// Whether a program is in `PATH`.
    static func has(_ program: String) -> Bool {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        return path.split(separator: ":").contains {
            FileManager.default.isExecutableFile(atPath: "\($0)/\(program)")
        }
    }

    /// Lends a temporary folder.
    static func withFolder(_ body: (URL) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "push-registry-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder)
    }

    /// Runs a program to its end, with the lowest priority: compilers would take the cores from tests that race.
    ///
    /// - Returns: its exit status, and what it wrote to standard output and standard error, in a file meanwhile: a full
    ///   pipe would block it.
    static func run(_ command: [String], in folder: URL) async throws -> (status: Int32, output: String) {
        let file = FileManager.default.temporaryDirectory.appending(path: "push-registry-run-\(UUID().uuidString)")
        try Data().write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let handle = try FileHandle(forWritingTo: file)
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["nice", "-n", "19"] + command
        process.currentDirectoryURL = folder
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = handle
        process.standardError = handle
        let status = try await withCheckedThrowingContinuation { (ended: CheckedContinuation<Int32, any Error>) in
            process.terminationHandler = { ended.resume(returning: $0.terminationStatus) }
            do {
                try process.run()
            } catch {
                ended.resume(throwing: error)
            }
        }
        try handle.close()
        return (status, try String(contentsOf: file, encoding: .utf8))
    }
}
