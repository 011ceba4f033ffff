import Glibc

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
