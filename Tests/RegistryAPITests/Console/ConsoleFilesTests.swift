import ConsoleFiles
import Foundation
import HTTPServer
import Testing

@testable import RegistryAPI

@Suite("The console's page is small, and the binary contains all of it")
struct ConsoleFilesTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Sources/ConsoleFiles/Files")

    /// What a browser may have to load in all, with icons and the texts of both languages.
    private static let (plainBytesMax, gzipBytesMax) = (200 * 1024, 60 * 1024)

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

    @Test func page_staysWithinItsBudget() throws {
        let page = try ConsolePage()
        let contents = [page.index] + page.files.map(\.content)
        let (plain, gzip) = contents.reduce((0, 0)) { ($0.0 + $1.plain.count, $0.1 + $1.gzip.count) }
        #expect(plain <= Self.plainBytesMax, "\(plain) bytes")
        #expect(gzip <= Self.gzipBytesMax, "\(gzip) bytes, compressed")
    }

    @Test func everyFile_hasAType_thatBrowsersTake() throws {
        for file in ConsoleFile.all {
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
