import Foundation
import Testing

@testable import push_registry

@Suite("Compressed files are read as what is in them, however they were written")
struct CompressedInputTests {
    /// Runs a program of the system, such as gzip.
    private func run(_ program: String, _ arguments: [String], in folder: URL) throws -> Bool {
        let paths = ["/usr/bin/", "/bin/"].map { $0 + program }
        guard let path = paths.first(where: FileManager.default.isExecutableFile(atPath:)) else { return false }
        let process = Process()
        process.executableURL = URL(filePath: path)
        process.arguments = arguments
        process.currentDirectoryURL = folder
        try process.run()
        process.waitUntilExit()
        return process.terminationStatus == 0
    }

    /// The parts of files with their texts.
    private func read(_ names: [String], in folder: URL) throws -> [String] {
        let files = try ImportFiles(names.map { folder.appending(path: $0).path })
        var parts: [String] = []
        try files.forEachPart { part in
            var bytes: [UInt8] = []
            while let piece = try part.bytes.read() { bytes += piece }
            let name = part.name.replacing(folder.path + "/", with: "")
            parts.append("\(name): \(String(decoding: bytes, as: UTF8.self))")
            return true
        }
        return parts
    }

    private func withFolder(_ body: (URL) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "compressed-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try Data("one".utf8).write(to: folder.appending(path: "a"))
        try Data(String(repeating: "two\n", count: 50_000).utf8).write(to: folder.appending(path: "b"))
        try body(folder)
    }

    @Test func gzip_mayHaveSeveralMembers() throws {
        try withFolder { folder in
            guard try run("gzip", ["a", "b"], in: folder) else { return }
            let (one, two) = (folder.appending(path: "a.gz"), folder.appending(path: "b.gz"))
            try (Data(contentsOf: one) + Data(contentsOf: two)).write(to: folder.appending(path: "both.gz"))
            let both = try read(["both.gz", "a.gz"], in: folder)
            #expect(both == ["both.gz: one" + String(repeating: "two\n", count: 50_000), "a.gz: one"])
            let cut = folder.appending(path: "cut.gz")
            try Data(contentsOf: two).prefix(100).write(to: cut)
            #expect(throws: InputEndsEarly.self) { try read(["cut.gz"], in: folder) }
        }
    }

    @Test func zip_isReadFileByFile() throws {
        try withFolder { folder in
            let script = """
                import zipfile
                z = zipfile.ZipFile("x.zip", "w")
                z.write("a", compress_type=zipfile.ZIP_STORED)
                z.write("b", "sub/b", compress_type=zipfile.ZIP_DEFLATED)
                z.close()
                """
            guard try run("python3", ["-c", script], in: folder) else { return }
            let parts = try read(["x.zip"], in: folder)
            #expect(parts == ["x.zip/a: one", "x.zip/sub/b: " + String(repeating: "two\n", count: 50_000)])
        }
    }
}
