import Foundation

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
