import Foundation

/// The time that the disk needs to make 8 KB durable, measured like `pg_test_fsync`.
///
/// pgbench commits each upsert separately, so its rate depends on this time. A disk that responds from memory within 50
/// µs makes pgbench several times faster than one that needs a millisecond, and the ratios shrink.
enum FlushTime {
    private static let samples = 200

    /// The median in microseconds, for a file on the disk of the throw-away clusters.
    static func measure() throws -> Double {
        let file = FileManager.default.temporaryDirectory.appending(path: "push-registry-flush-\(UUID().uuidString)")
        let descriptor = open(file.path(percentEncoded: false), O_WRONLY | O_CREAT | O_EXCL, 0o600)
        guard descriptor >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        defer {
            close(descriptor)
            try? FileManager.default.removeItem(at: file)
        }
        let page = [UInt8](repeating: 1, count: 8_192)
        let times = (0..<samples).map { _ in
            ContinuousClock().measure {
                _ = pwrite(descriptor, page, page.count, 0)
                _ = fdatasync(descriptor)
            } / .microseconds(1)
        }
        return times.sorted()[samples / 2]
    }
}
