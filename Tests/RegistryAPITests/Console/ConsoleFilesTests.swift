import Crypto
import Foundation
import HTTPApplication
import Testing

@testable import RegistryAPI

@Suite("The binary contains the console's page")
struct ConsoleFilesTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Sources/Registry/Console")

    /// The paths of the files below a folder, relative to it.
    private static func paths(_ folder: URL) -> [String] {
        let found = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: [.isRegularFileKey])
        let files = (found?.compactMap { $0 as? URL } ?? []).filter {
            (try? $0.resourceValues(forKeys: [.isRegularFileKey]))?.isRegularFile == true
        }
        return files.map { String($0.path.dropFirst(folder.path.count + 1)) }
    }

    @Test func files_areMadeFromTheSources() throws {
        let sources = Self.folder.appending(path: "Files")
        let paths = Self.paths(sources).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        #expect(paths.count > 40)
        let sums = try paths.map { path in
            "\(Self.digest(try Data(contentsOf: sources.appending(path: path))))  ./\(path)\n"
        }
        let made = try String(contentsOf: Self.folder.appending(path: "Served/sources.sha256"), encoding: .utf8)
        #expect(Self.digest(Data(sums.joined().utf8)) + "\n" == made, "run .ci/console-files")
    }

    @Test func files_areEmbedded() throws {
        let served = Self.folder.appending(path: "Served")
        let embedded = EmbeddedFile.console
        #expect(Set(embedded.map(\.path) + ["sources.sha256"]) == Set(Self.paths(served)))
        for file in embedded {
            #expect(try Data(contentsOf: served.appending(path: file.path)) == Data(file.bytes), "\(file.path)")
            #expect(ConsolePage.contentType(file.path) != "application/octet-stream", "\(file.path)")
        }
    }

    private static func digest(_ data: Data) -> String {
        SHA256.hash(data: data).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// Browsers keep the files of a folder for ever.
    @Test func folder_hasAnotherName_whenWhatIsServedChanges() async throws {
        let index = EmbeddedFile(path: "index.html", bytes: [1])
        let first = [index, EmbeddedFile(path: "app.js", bytes: Array("'a';".utf8))]
        let others = [
            [index, EmbeddedFile(path: "app.js", bytes: Array("'b';".utf8))],
            [index, EmbeddedFile(path: "b.js", bytes: first[1].bytes)],
            [index, first[1], EmbeddedFile(path: "icon.svg", bytes: [2])],
        ]
        var names: [String] = []
        for files in [first] + others { names.append(try await ConsolePage(files).digest) }
        #expect(Set(names).count == 4)
        #expect(try await ConsolePage(first.reversed()).digest == names[0])
    }
}
