import Glibc

/// The status of a path, without following a symbolic link.
package struct FileStatus {
    package let owner: uid_t
    private let mode: mode_t

    package var isDirectory: Bool { mode & S_IFMT == S_IFDIR }
    /// Whether only the owner (and root) can read, write or enter it.
    var isPrivate: Bool { mode & 0o077 == 0 }

    /// Nil if there is no such file, or if this process may not see it.
    package init?(_ path: String) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        owner = status.st_uid
        mode = status.st_mode
    }

    /// The absolute path without links or dots.
    ///
    /// - Throws: `directoryUnusable` if the path does not exist.
    static func canonicalPath(_ path: String) throws(EmbeddedPostgresError) -> String {
        guard let resolved = realpath(path, nil) else { throw .unusable(path) }
        defer { free(resolved) }
        return String(cString: resolved)
    }
}
