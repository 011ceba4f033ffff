import Foundation
import RegistryTestSupport
import Testing

extension Browser {
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
