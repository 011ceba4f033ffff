import ConsoleFiles
import Foundation
import HTTPApplication
import Testing

@testable import RegistryAPI

@Suite("The binary contains every file of the console's page")
struct ConsoleFilesTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Sources/Registry/ConsoleFiles/Files")

    @Test func everyFile_isEmbedded_asItIs() throws {
        let found = FileManager.default.enumerator(at: Self.folder, includingPropertiesForKeys: [.isRegularFileKey])
        let files = (found?.compactMap { $0 as? URL } ?? []).filter {
            (try? $0.resourceValues(forKeys: [.isRegularFileKey]))?.isRegularFile == true
        }
        let paths = files.map { String($0.path.dropFirst(Self.folder.path.count + 1)) }
        let embedded = ConsoleFile.all
        #expect(Set(paths) == Set(embedded.map(\.path)), "run .ci/console-files")
        for file in embedded {
            #expect(try Data(contentsOf: Self.folder.appending(path: file.path)) == Data(file.bytes), "\(file.path)")
        }
    }

    @Test func everyFile_hasAType_thatBrowsersTake() throws {
        for file in try ConsoleFile.packed() {
            #expect(ConsolePage.contentType(file.path) != "application/octet-stream", "\(file.path)")
        }
    }

    /// Browsers keep the files of a folder for ever.
    @Test func folder_hasAnotherName_whenWhatIsServedChanges() async throws {
        let index = ConsoleFile(path: "index.html", bytes: [1])
        let first = [index, ConsoleFile(path: "app.js", bytes: Array("'a';".utf8))]
        let others = [
            [index, ConsoleFile(path: "app.js", bytes: Array("'b';".utf8))],
            [index, ConsoleFile(path: "b.js", bytes: first[1].bytes)],
            [index, first[1], ConsoleFile(path: "icon.svg", bytes: [2])],
        ]
        var names: [String] = []
        for files in [first] + others { names.append(try await ConsolePage(files).digest) }
        #expect(Set(names).count == 4)
        #expect(try await ConsolePage(first.reversed()).digest == names[0])
        // Packing drops the comment, so the same bytes are served.
        let source = ConsoleFile(path: "app.js", bytes: Array("// Why.\n'a';".utf8))
        #expect(try await ConsolePage([index, source]).digest == names[0])
    }
}
