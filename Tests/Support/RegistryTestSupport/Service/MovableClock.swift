import Foundation
import Glibc
import Synchronization

/// The clock of a server's processes, which a test sets: with libfaketime, it shows the modification time of a file
/// plus the time since the server's start. Only the wall clock moves; timeouts and deadlines do not.
///
/// The time could also be the text of a file. But PostgreSQL reads the clock in signal handlers, too. To read a file
/// there allocates memory, which sometimes crashed a session.
public final class MovableClock: Sendable {
    public static let isInstalled = library != nil

    /// Debian's package `libfaketime`.
    private static let library: String? = {
        let folders = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib")) ?? []
        return folders.map { "/usr/lib/\($0)/faketime/libfaketime.so.1" }
            .first { FileManager.default.fileExists(atPath: $0) }
    }()

    private static func file(in folder: String) -> String { "\(folder)/clock" }

    private let path: String
    /// The modification time in seconds.
    private let base: Atomic<Int64>
    /// When the server started, by this process's clock.
    private let start = Atomic<Int64>(0)

    /// - Parameter folder: one that every user can enter.
    public init(in folder: String) {
        path = Self.file(in: folder)
        base = Atomic(Self.microseconds / 1_000_000)
        _ = FileManager.default.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o644])
    }

    /// Variables of a server whose clock depends on the file in this folder.
    public static func environment(in folder: String) -> [String: String] {
        [
            "LD_PRELOAD": library ?? "", "FAKETIME": "%", "FAKETIME_FOLLOW_FILE": MovableClock(in: folder).path,
            "FAKETIME_DONT_RESET": "1", "FAKETIME_NO_CACHE": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "NO_FAKE_STAT": "1",
        ]
    }

    /// Call it once, before the clock is set.
    ///
    /// - Parameter microseconds: what the server's clock shows, since 1970.
    public func calibrate(microseconds: Int64) {
        let elapsed = microseconds - base.load(ordering: .relaxed) * 1_000_000
        start.store(Self.microseconds - elapsed, ordering: .relaxed)
    }

    private var elapsed: Int64 { Self.microseconds - start.load(ordering: .relaxed) }

    /// What it shows, since 1970.
    public var microseconds: Int64 { base.load(ordering: .relaxed) * 1_000_000 + elapsed }

    /// Afterwards, it shows this time, or less than a second more.
    public func set(toMicroseconds microseconds: Int64) throws {
        try write((microseconds - elapsed + 999_999) / 1_000_000)
    }

    /// - Parameter duration: whole seconds.
    public func move(by duration: Duration) throws {
        try write(base.load(ordering: .relaxed) + Int64(duration / .seconds(1)))
    }

    /// Of this process's clock.
    private static var microseconds: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
    }

    private func write(_ seconds: Int64) throws {
        let time = timespec(tv_sec: Int(seconds), tv_nsec: 0)
        guard utimensat(AT_FDCWD, path, [time, time], 0) == 0 else { throw CocoaError(.fileWriteUnknown) }
        base.store(seconds, ordering: .relaxed)
    }
}
