import Foundation
import Glibc

/// The paths of one server's files, and the user that it runs as:
///
///     <directory>/postgres.lock     the lock of the server's owner (written by the service's user)
///     <directory>/postgres/         everything below belongs to the server's user, mode 0700
///         data/  log/  socket/
///
/// If root runs the service in a folder that the server's user cannot enter, such as `/root`, then `postgres` is a
/// symbolic link to a folder under `/var/lib/push-registry`. Only the link records where the data is.
package struct ClusterFolder: Equatable, Sendable {
    /// The folder for data that root cannot place in the service's own folder.
    private static let systemFolder = "/var/lib/push-registry"
    /// `pg_ctl` passes its paths to a shell inside double quotes.
    private static let unusableCharacters: Set<Character> = ["\"", "$", "`", "\\", "\n"]

    /// The canonical path of `<directory>/postgres`.
    let home: String
    /// The user that runs the server and owns `home`.
    package let user: ServerUser
    /// The folder of the server's Unix socket.
    let socketFolder: String

    package var data: String { "\(home)/data" }
    var log: String { "\(home)/log" }
    /// The server's output before it opens its own log.
    var startLog: String { "\(log)/start.log" }

    /// Creates missing parts of the folder, and determines the user that the server runs as.
    ///
    /// - Parameter directory: canonical, and locked by the caller.
    /// - Throws: `directoryUnusable`, `ownedByAnotherUser` or `unreachable`.
    package static func prepare(in directory: String) async throws(EmbeddedPostgresError) -> ClusterFolder {
        let link = "\(directory)/postgres"
        if FileStatus(link) == nil { try await makeHome(at: link) }
        let folder = try await open(link)
        try makeFolder(folder.log, user: folder.user)
        return folder
    }

    /// The existing folder; nil if there is none. Creates nothing, and needs no lock.
    ///
    /// - Parameter directory: canonical.
    /// - Throws: as `prepare`.
    static func find(in directory: String) async throws(EmbeddedPostgresError) -> ClusterFolder? {
        let link = "\(directory)/postgres"
        guard FileStatus(link) != nil else { return nil }
        return try await open(link)
    }

    private static func open(_ link: String) async throws(EmbeddedPostgresError) -> ClusterFolder {
        let home = try FileStatus.canonicalPath(link)
        guard unusableCharacters.isDisjoint(with: home) else {
            throw .directoryUnusable(path: home, reason: "its path contains one of \" $ ` \\ or a line break")
        }
        let user = try owner(of: home)
        guard await canEnter(user, home) else { throw .unreachable(path: home, user: user.name) }
        return ClusterFolder(home: home, user: user, socketFolder: SocketFolder.path(home: home, user: user))
    }

    /// Creates the service's own folder if it is missing; the server's user can pass through it.
    ///
    /// - Returns: its canonical path.
    package static func makeDirectory(_ path: String) throws(EmbeddedPostgresError) -> String {
        if FileStatus(path) == nil {
            do {
                try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            } catch {
                throw .directoryUnusable(path: path, reason: "it cannot be created (\(error.localizedDescription))")
            }
            chmod(path, 0o711)
        }
        return try FileStatus.canonicalPath(path)
    }

    /// Creates a folder that only `user` (and root) can enter, if it is missing.
    static func makeFolder(_ path: String, user: ServerUser) throws(EmbeddedPostgresError) {
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw .unusable(path) }
        guard !user.isAnother || lchown(path, user.userID, user.groupID) == 0 else { throw .unusable(path) }
    }

    private static func makeHome(at link: String) async throws(EmbeddedPostgresError) {
        let user = ServerUser.forNewServer()
        try makeFolder(link, user: user)
        if await canEnter(user, link) { return }
        rmdir(link)
        guard mkdir(systemFolder, 0o711) == 0 || errno == EEXIST else { throw .unusable(systemFolder) }
        var template = Array("\(systemFolder)/XXXXXX".utf8CString)
        guard let created = mkdtemp(&template) else { throw .unusable(systemFolder) }
        let home = String(cString: created)
        try makeFolder(home, user: user)
        guard symlink(home, link) == 0 else { throw .unusable(link) }
    }

    /// The folder's owner. Root runs a server as the owner of its data; any other user must be that owner.
    private static func owner(of home: String) throws(EmbeddedPostgresError) -> ServerUser {
        guard let status = FileStatus(home), status.isDirectory else {
            throw .directoryUnusable(path: home, reason: "it is not a folder")
        }
        guard status.owner != 0, let user = ServerUser.withID(status.owner) else {
            return try unnamedOwner(status.owner, of: home)
        }
        guard !user.isAnother || geteuid() == 0 else { throw .ownedByAnotherUser(path: home, owner: user.name) }
        return user
    }

    /// A container may run with a user id that has no account.
    private static func unnamedOwner(
        _ userID: uid_t, of home: String
    ) throws(EmbeddedPostgresError) -> ServerUser {
        guard userID == geteuid(), userID != 0 else {
            throw .ownedByAnotherUser(path: home, owner: userID == 0 ? "root" : "\(userID)")
        }
        return ServerUser.forNewServer()
    }

    /// Asks the kernel, as that user: the mode bits do not include access control lists.
    private static func canEnter(_ user: ServerUser, _ path: String) async -> Bool {
        guard user.isAnother else { return access(path, X_OK | W_OK) == 0 }
        let outcome = try? await ServerCommand(programs: "/usr/bin", user: user).run("test", ["-w", "\(path)/."])
        return outcome != nil
    }
}

extension EmbeddedPostgresError {
    /// The error of the last system call on `path`, from `errno`.
    package static func unusable(_ path: String) -> EmbeddedPostgresError {
        .directoryUnusable(path: path, reason: String(cString: strerror(errno)))
    }
}

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
