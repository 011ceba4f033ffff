import Foundation
import Migrations
import Testing

@Suite("The binary carries every migration of the folder")
struct ManifestTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Migrations")

    @Test func manifest_namesEveryFileInOrder_whenComparedToTheFolder() throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path)
            .filter { $0.hasSuffix(".sql") }.sorted()
        #expect(migrationFiles.map { $0.name + ".sql" } == files)
    }

    @Test(arguments: migrationFiles)
    func manifest_holdsTheFilesText_whenComparedToTheFolder(file: MigrationFile) throws {
        let text = try String(contentsOf: Self.folder.appending(path: file.name + ".sql"), encoding: .utf8)
        #expect(file.sql == text)
    }

    @Test func versions_countFromOne_withoutGaps() {
        let versions = migrationFiles.map { Int($0.name.prefix(4)) }
        #expect(versions == Array(1...migrationFiles.count))
        #expect(migrationFiles.allSatisfy { $0.name.wholeMatch(of: /\d{4}(_[a-z0-9]+)+/) != nil })
    }
}
