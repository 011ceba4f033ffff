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

/// A lock on a file in a server's folder. Guests, which use a server that another process runs, share it; the owner
/// takes it exclusively before it stops the server. The kernel releases it when the holder dies. Child processes do not
/// inherit it.
final class GuestLock: Sendable {
    enum Mode {
        case guest, owner

        fileprivate var operation: CInt {
            switch self {
            case .guest: LOCK_SH
            case .owner: LOCK_EX
            }
        }
    }

    /// The result of an attempt to take the lock.
    enum Outcome {
        case taken(GuestLock)
        /// A guest or the owner has the lock.
        case busy
        /// This user must not open the file.
        case unavailable
    }

    private let descriptor: CInt

    private init(_ descriptor: CInt) {
        self.descriptor = descriptor
    }

    /// Tries to take the lock; does not wait.
    ///
    /// - Parameter directory: a canonical path.
    static func take(_ directory: String, as mode: Mode) -> Outcome {
        let descriptor = open("\(directory)/postgres.guests", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { return .unavailable }
        // If the lock is busy, `deinit` closes the descriptor.
        let lock = GuestLock(descriptor)
        return flock(descriptor, mode.operation | LOCK_NB) == 0 ? .taken(lock) : .busy
    }

    deinit {
        // Unlock before closing: a child process between fork and exec still has the descriptor.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }
}

/// The use of a server that another process runs. While this value exists, an owner that waits for guests does not stop
/// the server.
public struct EmbeddedPostgresGuest: Sendable {
    /// libpq keywords for the service's role.
    public let connectionString: String
    /// Nil if the folder belongs to another user.
    private let lock: GuestLock?

    init(connectionString: String, lock: GuestLock?) {
        self.connectionString = connectionString
        self.lock = lock
    }
}
