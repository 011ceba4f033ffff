import Foundation
import Testing

@testable import Importing

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
            #expect(throws: ImportFailure.self) { try read(["cut.gz"], in: folder) }
        }
    }

    /// The error comes with the only bytes that there are.
    @Test func damagedGzip_isNoEmptyFile() throws {
        try withFolder { folder in
            let text = "installId,token,provider\na1,t1,fcm\n"
            try Data(text.utf8).write(to: folder.appending(path: "fleet.csv"))
            guard try run("gzip", ["fleet.csv"], in: folder) else { return }
            let file = folder.appending(path: "fleet.csv.gz")
            let good = try Data(contentsOf: file)
            #expect(try ImportDetection.find(in: ImportFiles([file.path]), ImportNames(), given: nil) == nil)
            for offset in [6, 2, 12] {
                var bad = good
                bad[bad.count - offset] ^= 0xFF
                try bad.write(to: file)
                let files = try ImportFiles([file.path])
                #expect(throws: ImportFailure.self) { try ImportDetection.find(in: files, ImportNames(), given: nil) }
                try files.forEachPart { part in
                    #expect(throws: InputDamaged.self) {
                        _ = try ForeignRows(part.bytes, ElementSplitter(wrappers: []))
                    }
                    return true
                }
            }
        }
    }

    @Test func gzip_isDamaged_whenOtherBytesThanZerosFollowAMember() throws {
        try withFolder { folder in
            guard try run("gzip", ["a", "b"], in: folder) else { return }
            let member = try Data(contentsOf: folder.appending(path: "a.gz"))
            let file = folder.appending(path: "tail.gz")
            try (member + Data(count: 70_000)).write(to: file)
            #expect(try read(["tail.gz"], in: folder) == ["tail.gz: one"])
            for rest in [Data("garbage".utf8), Data(count: 70_000) + Data([1])] {
                try (member + rest + member).write(to: file)
                #expect(throws: ImportFailure.self) { try read(["tail.gz"], in: folder) }
            }
        }
    }

    /// In `y.zip` the checksum stands behind the data, as in an archive from a pipe.
    @Test func zip_isDamaged_whenAChecksumDiffers() throws {
        try withFolder { folder in
            let script = """
                import zipfile, io
                class Pipe(io.RawIOBase):
                    def __init__(self, file): self.file = file
                    def writable(self): return True
                    def write(self, bytes): return self.file.write(bytes)
                for name, method in [("x.zip", zipfile.ZIP_STORED), ("y.zip", zipfile.ZIP_DEFLATED)]:
                    with open(name, "wb") as file:
                        with zipfile.ZipFile(Pipe(file) if name == "y.zip" else file, "w", method) as z: z.write("a")
                """
            guard try run("python3", ["-c", script], in: folder) else { return }
            for (name, mark) in [("x.zip", Data("one".utf8)), ("y.zip", Data([0x50, 0x4B, 0x07, 0x08]))] {
                let file = folder.appending(path: name)
                #expect(try read([name], in: folder) == ["\(name)/a: one"])
                var bytes = try Data(contentsOf: file)
                let found = try #require(bytes.firstRange(of: mark))
                bytes[found.upperBound - (name == "x.zip" ? 1 : 0)] ^= 1
                try bytes.write(to: file)
                #expect(throws: ImportFailure.self, "\(name)") { try read([name], in: folder) }
            }
        }
    }

    @Test func hiddenFilesOfAnArchive_areSkipped() throws {
        try withFolder { folder in
            let script = """
                import zipfile
                z = zipfile.ZipFile("x.zip", "w")
                for name in [".DS_Store", "__MACOSX/._a", "sub/.hidden", "a"]: z.write("a", name)
                z.close()
                """
            guard try run("python3", ["-c", script], in: folder) else { return }
            #expect(try read(["x.zip"], in: folder) == ["x.zip/a: one"])
        }
    }

    @Test func textThatIsNotUTF8_isRefused_withItsName() throws {
        try withFolder { folder in
            for encoding in [String.Encoding.utf16, .utf16LittleEndian, .utf16BigEndian] {
                try #require("<a/>\n".data(using: encoding)).write(to: folder.appending(path: "wide.xml"))
                let failure = #expect(throws: ImportFailure.self) { try read(["wide.xml"], in: folder) }
                #expect(failure?.description.contains("wide.xml is not UTF-8") == true)
            }
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
