import Foundation
import Glibc

/// The exclusive right to run a server in a folder: a file lock that the kernel releases when the holder ends for any
/// reason. Child processes do not inherit it.
package final class OwnerLock: Sendable {
    private let descriptor: CInt

    /// Locks the file, or throws at once.
    ///
    /// - Throws: `inUse` if a living owner holds the lock, `directoryUnusable` if the file cannot be opened.
    package init(directory: String) throws(EmbeddedPostgresError) {
        let path = "\(directory)/postgres.lock"
        descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else {
            throw .directoryUnusable(path: directory, reason: "\(path): \(String(cString: strerror(errno)))")
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            throw .inUse(directory: directory, processID: Self.holder(path))
        }
        writeHolder()
    }

    deinit {
        guard descriptor >= 0 else { return }
        // Unlock first: a child process between fork and exec still has a copy of the descriptor.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    /// Writes the holder's process id, which a second owner's error message shows. Nothing else depends on it.
    private func writeHolder() {
        ftruncate(descriptor, 0)
        _ = "\(getpid())\n".withCString { write(descriptor, $0, strlen($0)) }
    }

    private static func holder(_ path: String) -> Int32? {
        let text = try? String(contentsOfFile: path, encoding: .utf8)
        return text.flatMap { Int32($0.trimmingCharacters(in: .whitespacesAndNewlines)) }
    }
}
