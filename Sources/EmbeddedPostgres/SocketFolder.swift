import Foundation
import Glibc

/// The folder of a server's Unix socket.
///
/// PostgreSQL asks for no password on the socket. The folder admits only the server's user and root, so no other user
/// reaches it. (Peer authentication would compare user names instead, and root's service
/// connects to another user's server.)
enum SocketFolder {
    /// `sun_path` has 108 bytes, one of them for the terminator (unix(7)).
    private static let pathBytesMax = 107

    /// Where it is: inside `home`, or, where the socket's path would be too long or libpq would misread it, a short one
    /// made from the path's hash under `XDG_RUNTIME_DIR` or `/tmp`.
    static func path(home: String, user: ServerUser) -> String {
        let usual = "\(home)/socket"
        return fits(usual) ? usual : "\(temporaryFolder(user))/push-registry-\(hash(home))"
    }

    /// Makes the folder where it is missing. In `/tmp` anybody may have put something else there first, so that what
    /// is found must be a private folder of the user's.
    static func make(_ path: String, user: ServerUser) throws(EmbeddedPostgresError) {
        if FileStatus(path) == nil { try ClusterFolder.makeFolder(path, user: user) }
        guard let status = FileStatus(path), status.isDirectory, status.isPrivate, status.owner == user.userID else {
            throw .directoryUnusable(path: path, reason: "it is not a private folder of user \(user.name)")
        }
    }

    /// Removes what a killed server left, whose id the server would compare with living processes' in vain. The folder
    /// is one cluster's alone, and the caller knows that its server does not run.
    static func clear(_ folder: String) {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        for name in names where name.hasPrefix(".s.PGSQL.") { unlink("\(folder)/\(name)") }
    }

    /// A comma separates hosts in a connection string and folders in the server's settings.
    private static func fits(_ folder: String) -> Bool {
        "\(folder)/.s.PGSQL.65535".utf8.count <= pathBytesMax && !folder.contains(",")
    }

    private static func temporaryFolder(_ user: ServerUser) -> String {
        let runtime = ProcessInfo.processInfo.environment["XDG_RUNTIME_DIR"] ?? ""
        return !user.isAnother && runtime.hasPrefix("/") && fits("\(runtime)/push-registry-0123456789abcdef")
            ? runtime : "/tmp"
    }

    /// FNV-1a, 64 bits, in hexadecimal digits: the same in every process, unlike `Hasher`.
    private static func hash(_ text: String) -> String {
        let value = text.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        return String(value, radix: 16)
    }
}
