/// Why an embedded server cannot be provided. The description says what happened and what to do next.
public enum EmbeddedPostgresError: Error, Equatable, Sendable {
    /// No PostgreSQL of version `minimum` or later is installed in the folders `searched`.
    case binariesNotFound(minimum: Int, searched: [String])
    /// The data in `directory` belongs to PostgreSQL `version`, which is not installed.
    case versionNotInstalled(version: Int, directory: String)
    /// A living process owns the folder; its id is nil if unknown.
    case inUse(directory: String, processID: Int32?)
    /// Another user owns the folder's data, and only root could run a server as that user.
    case ownedByAnotherUser(path: String, owner: String)
    /// The server's user cannot enter the folder, because that user has no right to enter a folder above it.
    case unreachable(path: String, user: String)
    /// The folder cannot be created, locked or used, for `reason`.
    case directoryUnusable(path: String, reason: String)
    /// The server did not start; `log` is the end of its log.
    case startFailed(log: String)
    /// The server did not exit before the deadline.
    case stopFailed(directory: String, reason: String)
    /// One of PostgreSQL's programs failed and printed `output`.
    case commandFailed(command: String, output: String)
}

extension EmbeddedPostgresError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .binariesNotFound(let minimum, let searched):
            "PostgreSQL \(minimum) or later is not installed (searched: \(searched.joined(separator: ", "))). "
                + "Install it (Debian, Ubuntu: apt install postgresql) or set a database with "
                + "PUSH_REGISTRY_DATABASE_URL."
        case .versionNotInstalled(let version, let directory):
            "The data in \(directory) was written by PostgreSQL \(version), which is not installed. "
                + "Install it (Debian, Ubuntu: apt install postgresql-\(version)), upgrade the data with "
                + "pg_upgrade, or choose another folder with PUSH_REGISTRY_DATA_DIR."
        case .inUse(let directory, let processID):
            "Another process\(processID.map { " (\($0))" } ?? "") runs the embedded PostgreSQL in \(directory). "
                + "Stop it, or choose another folder with PUSH_REGISTRY_DATA_DIR."
        case .ownedByAnotherUser(let path, let owner):
            "\(path) belongs to user \(owner). Run as \(owner) or root, or choose another folder with "
                + "PUSH_REGISTRY_DATA_DIR."
        case .unreachable(let path, let user):
            "PostgreSQL runs as user \(user), who cannot enter \(path). Allow others to enter the folders above it "
                + "(chmod o+x), or choose another folder with PUSH_REGISTRY_DATA_DIR."
        case .directoryUnusable(let path, let reason):
            "\(path) cannot be the embedded PostgreSQL's folder: \(reason). "
                + "Choose another with PUSH_REGISTRY_DATA_DIR."
        case .startFailed(let log):
            "The embedded PostgreSQL does not start. The end of its log:\n\(log)"
        case .stopFailed(let directory, let reason):
            "The embedded PostgreSQL in \(directory) does not stop: \(reason)"
        case .commandFailed(let command, let output):
            "\(command) failed: \(output)"
        }
    }
}
