import Foundation

/// The server's log, for the error that it did not start.
enum ServerLog {
    private static let linesMax = 12
    /// The end of the file that is read: a log of a week may have gigabytes.
    private static let bytesMax: UInt64 = 64 * 1024

    /// The last lines of the most recent log file; nil if it is empty.
    static func end(_ folder: ClusterFolder) -> String? {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.log)) ?? []
        let newest = names.map { "\(folder.log)/\($0)" }.max { modified($0) < modified($1) }
        guard let newest, let data = lastBytes(of: newest), !data.isEmpty else { return nil }
        let lines = String(decoding: data, as: UTF8.self).split(separator: "\n")
        return lines.suffix(linesMax).joined(separator: "\n")
    }

    private static func lastBytes(of path: String) -> Data? {
        guard let file = FileHandle(forReadingAtPath: path), let count = try? file.seekToEnd() else { return nil }
        try? file.seek(toOffset: count - min(count, bytesMax))
        return try? file.readToEnd()
    }

    private static func modified(_ path: String) -> Date {
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        return attributes?[.modificationDate] as? Date ?? .distantPast
    }
}
