import Glibc

/// A lock on a file of a server's folder: shared by the guests, who use a server that another process runs, or the
/// owner's alone, who is about to stop it. The kernel releases it when the holder ends, however it ends. Child
/// processes do not inherit it.
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

    /// What taking the lock came to.
    enum Outcome {
        case taken(GuestLock)
        /// A guest has it, or the owner.
        case busy
        /// The file is not this user's to open: nobody can be waited for.
        case unavailable
    }

    private let descriptor: CInt

    private init(_ descriptor: CInt) {
        self.descriptor = descriptor
    }

    /// Takes the lock at once or not at all.
    ///
    /// - Parameter directory: canonical.
    static func take(_ directory: String, as mode: Mode) -> Outcome {
        let descriptor = open("\(directory)/postgres.guests", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { return .unavailable }
        // Closed with it, where it is not given back.
        let lock = GuestLock(descriptor)
        return flock(descriptor, mode.operation | LOCK_NB) == 0 ? .taken(lock) : .busy
    }

    deinit {
        // Unlocked first: a child between its fork and its exec still has the descriptor.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }
}

/// The use of a server that another process runs. As long as this lives, an owner that waits for its guests does not
/// stop the server.
public struct EmbeddedPostgresGuest: Sendable {
    /// Key words for libpq, for the service's role.
    public let connectionString: String
    /// Nil where the folder is another user's.
    private let lock: GuestLock?

    init(connectionString: String, lock: GuestLock?) {
        self.connectionString = connectionString
        self.lock = lock
    }
}
