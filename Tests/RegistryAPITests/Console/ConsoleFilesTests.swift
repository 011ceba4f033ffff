import ConsoleFiles
import Foundation
import HTTPServer
import Testing

@testable import RegistryAPI

@Suite("The binary contains every file of the console's page")
struct ConsoleFilesTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Sources/ConsoleFiles/Files")

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

    @Test func folder_hasAnotherName_whenAFileChanges() throws {
        let first = [ConsoleFile(path: "index.html", bytes: [1]), ConsoleFile(path: "a.js", bytes: [2])]
        let names = try [
            first, [first[0], ConsoleFile(path: "a.js", bytes: [3])],
            [first[0], ConsoleFile(path: "b.js", bytes: [2])],
        ].map { try ConsolePage($0).digest }
        #expect(Set(names).count == 3)
        #expect(try ConsolePage(first.reversed()).digest == names[0])
    }
}
