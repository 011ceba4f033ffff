import Foundation
import Glibc
import RegistryTestSupport

/// The sides of the engine benchmark.
enum EngineSide: Sendable {
    case plain, tls, hummingbird
}

/// A server of the engine benchmark: a separate process on a port of 127.0.0.1.
struct EngineServer: Sendable {
    private static let readyDeadline = Duration.seconds(10)
    private static let pollPause = Duration.milliseconds(5)

    let side: EngineSide
    let port: UInt16
    let usage: ProcessUsage
    /// Nil if the server is not encrypted.
    let tls: TLSClient?

    /// Starts the program with the port as its last argument, lends the server once it listens, and stops it.
    static func with<Value: Sendable>(
        _ side: EngineSide, _ binary: Binary, _ arguments: [String],
        tls: TLSClient? = nil, _ body: (EngineServer) async throws -> Value
    ) async throws -> Value {
        let port = try TestListener().port
        let log = FileManager.default.temporaryDirectory.appending(path: "push-registry-\(side)-\(getpid()).log")
        defer { try? FileManager.default.removeItem(at: log) }
        return try await binary.with(arguments + ["\(port)"], environment: [:], log: log) { processID in
            let server = EngineServer(side: side, port: port, usage: ProcessUsage(processID: processID), tls: tls)
            try await server.waitUntilItListens(log)
            return try await body(server)
        }
    }

    private func waitUntilItListens(_ log: URL) async throws {
        let deadline = ContinuousClock.now + Self.readyDeadline
        while (try? TestConnection(port: port)) == nil {
            guard usage.isRunning, ContinuousClock.now < deadline else {
                let output = (try? String(contentsOf: log, encoding: .utf8)) ?? ""
                throw BenchmarkFailure("the server \(side) did not start: \(output)")
            }
            try await Task.sleep(for: Self.pollPause)
        }
    }
}

extension Binary {
    /// This benchmark itself.
    static let own = Binary(url: URL(filePath: "/proc/self/exe").resolvingSymlinksInPath())

    static func onPath(_ name: String) throws -> Binary {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin").split(separator: ":")
        let found = folders.map { URL(filePath: "\($0)/\(name)") }
            .first { FileManager.default.isExecutableFile(atPath: $0.path) }
        guard let found else { throw BenchmarkFailure("\(name) is not on the PATH") }
        return Binary(url: found)
    }
}

/// A certificate for localhost and its key, in a folder that is removed afterwards.
struct SelfSignedCertificate: Sendable {
    let certificate: String
    let key: String

    static func with<Value: Sendable>(_ body: (SelfSignedCertificate) async throws -> Value) async throws -> Value {
        let folder = FileManager.default.temporaryDirectory.appending(path: "push-registry-tls-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let files = SelfSignedCertificate(
            certificate: folder.appending(path: "certificate.pem").path, key: folder.appending(path: "key.pem").path)
        // P-256, like most public server certificates today.
        try await Binary.onPath("openssl").run([
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
            "-subj", "/CN=localhost", "-keyout", files.key, "-out", files.certificate,
        ])
        return try await body(files)
    }
}

/// The same routes on Hummingbird 2, in a package outside the product's dependencies that is built on request.
struct HummingbirdPackage {
    /// In the current folder; ignored by git, removed by `make clean`.
    private static let folder = URL(filePath: ".build-hummingbird", directoryHint: .isDirectory)

    private static let binary = Binary(url: folder.appending(path: ".build/release/hummingbird-server"))

    /// The server, if it was built with the current source.
    static var built: Binary? {
        let source = try? Data(contentsOf: main)
        guard source == Data(PackageResources.main_swift_txt) else { return nil }
        return FileManager.default.isExecutableFile(atPath: binary.url.path) ? binary : nil
    }

    /// Downloads and builds missing parts: several minutes the first time.
    static func build() async throws -> Binary {
        try write(PackageResources.Package_swift_txt, to: folder.appending(path: "Package.swift"))
        try write(PackageResources.main_swift_txt, to: main)
        try await Binary.onPath("swift").run(
            ["build", "--quiet", "--configuration", "release", "--package-path", folder.path],
            environment: ProcessInfo.processInfo.environment)
        return binary
    }

    private static let main = folder.appending(path: "Sources/hummingbird-server/main.swift")

    private static func write(_ bytes: [UInt8], to file: URL) throws {
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        let data = Data(bytes)
        if (try? Data(contentsOf: file)) != data { try data.write(to: file) }
    }
}
