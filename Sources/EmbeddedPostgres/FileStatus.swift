import Glibc

/// What the file system says about a path itself: a symbolic link is not followed.
struct FileStatus {
    let owner: uid_t
    private let mode: mode_t

    var isDirectory: Bool { mode & S_IFMT == S_IFDIR }
    /// Nobody but the owner (and root) can read, write or enter it.
    var isPrivate: Bool { mode & 0o077 == 0 }

    /// Nil when there is nothing, or nothing that may be looked at.
    init?(_ path: String) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        owner = status.st_uid
        mode = status.st_mode
    }

    /// The absolute path without links or dots.
    ///
    /// - Throws: `directoryUnusable` when nothing is there.
    static func canonicalPath(_ path: String) throws(EmbeddedPostgresError) -> String {
        guard let resolved = realpath(path, nil) else { throw .unusable(path) }
        defer { free(resolved) }
        return String(cString: resolved)
    }
}
