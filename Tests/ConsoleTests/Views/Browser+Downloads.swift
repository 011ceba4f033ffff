import Foundation
import RegistryTestSupport
import Testing

extension Browser {
    /// The content of the CSV file when it is complete: until then it has another extension.
    static func download(in folder: URL) async throws -> String {
        var file: URL?
        try await eventually("the file is complete") {
            file = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
                .first { $0.pathExtension == "csv" }
            return file != nil
        }
        return try String(contentsOf: try #require(file), encoding: .utf8)
    }
}
