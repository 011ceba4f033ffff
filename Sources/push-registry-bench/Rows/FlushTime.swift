import Foundation

/// How long the disk takes to make 8 KB durable, as `pg_test_fsync` measures it.
///
/// pgbench commits each upsert by itself, so its rate hangs on this: a disk that answers from memory within 50 µs
/// serves it several times faster than one that takes a millisecond, and the ratios shrink.
enum FlushTime {
    private static let samples = 200

    /// The median in microseconds, of a file beside those of throw-away clusters.
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
