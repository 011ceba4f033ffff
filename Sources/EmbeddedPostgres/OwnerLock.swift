import Foundation
import Glibc

/// The right to run a server in a folder: a lock on a file of it, which the kernel releases when the holder ends,
/// however it ends. Child processes do not inherit it.
final class OwnerLock: Sendable {
    private let descriptor: CInt

    /// Takes the lock at once or not at all.
    ///
    /// - Throws: `inUse` when a living owner has it, `directoryUnusable` when the file cannot be had.
    init(directory: String) throws(EmbeddedPostgresError) {
        let path = "\(directory)/postgres.lock"
        descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else {
            throw .directoryUnusable(path: directory, reason: "\(path): \(String(cString: strerror(errno)))")
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            throw .inUse(directory: directory, processID: Self.holder(path))
        }
        note("\(getpid())\n")
    }

    deinit {
        guard descriptor >= 0 else { return }
        // Unlocked first: a child between its fork and its exec still has the descriptor.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    /// Writes who holds it, for the message that a second owner gets; nothing depends on it.
    private func note(_ text: String) {
        ftruncate(descriptor, 0)
        _ = text.withCString { write(descriptor, $0, strlen($0)) }
    }

    private static func holder(_ path: String) -> Int32? {
        let text = try? String(contentsOfFile: path, encoding: .utf8)
        return text.flatMap { Int32($0.trimmingCharacters(in: .whitespacesAndNewlines)) }
    }
}
