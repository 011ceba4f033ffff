import Foundation
import RegistryTestSupport
import Testing

extension Browser {
    /// Lends an empty folder into which the browser downloads.
    func withDownloads(_ body: (URL) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "console-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await devTools("Browser.setDownloadBehavior", ["behavior": "allow", "downloadPath": .string(folder.path)])
        try await body(folder)
    }

    /// The content of the CSV file when it is complete. Until then there is another file, which Chromium renames, and
    /// perhaps an empty one that reserves the name.
    static func download(in folder: URL) async throws -> String {
        var text = ""
        try await eventually("the file is complete") {
            let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            guard files.count == 1, files[0].pathExtension == "csv" else { return false }
            text = String(decoding: try Data(contentsOf: files[0]), as: UTF8.self)
            return !text.isEmpty
        }
        return text
    }
}
