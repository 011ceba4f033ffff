import Basics
import Foundation
import Glibc

/// The folder of a server's Unix socket.
///
/// PostgreSQL asks for no password on the socket. Only the server's user and root can enter the folder, so no other
/// user reaches the socket. (Peer authentication is no alternative: it compares user names, and a service that runs as
/// root connects to another user's server.)
enum SocketFolder {
    /// `sun_path` has 108 bytes, one of them for the terminator (unix(7)).
    private static let pathBytesMax = 107

    /// The folder: inside `home`; or, if the socket's path would be too long or libpq would misread it, under
    /// `XDG_RUNTIME_DIR` or `/tmp`, with a short name from the path's hash.
    static func path(home: String, user: ServerUser) -> String {
        let preferred = "\(home)/socket"
        return fits(preferred) ? preferred : "\(temporaryFolder(user))/push-registry-\(hash(home))"
    }

    /// Creates the folder if it is missing. In `/tmp` another user may have created something of that name first, so an
    /// existing path must be a private folder of the server's user.
    static func make(_ path: String, user: ServerUser) throws(EmbeddedPostgresError) {
        if FileStatus(path) == nil { try ClusterFolder.makeFolder(path, user: user) }
        guard let status = FileStatus(path), status.isDirectory, status.isPrivate, status.owner == user.userID else {
            throw .directoryUnusable(path: path, reason: "it is not a private folder of user \(user.name)")
        }
    }

    /// Removes the socket and lock file that a killed server left behind: the server might take their process id for a
    /// living server. Only one cluster uses the folder, and the caller knows that its server does not run.
    static func clear(_ folder: String) {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        for name in names where name.hasPrefix(".s.PGSQL.") { unlink("\(folder)/\(name)") }
    }

    /// A comma separates hosts in a connection string, and folders in the server's setting.
    private static func fits(_ folder: String) -> Bool {
        "\(folder)/.s.PGSQL.65535".utf8.count <= pathBytesMax && !folder.contains(",")
    }

    private static func temporaryFolder(_ user: ServerUser) -> String {
        let runtime = ProcessInfo.processInfo.environment["XDG_RUNTIME_DIR"] ?? ""
        return !user.isAnother && runtime.hasPrefix("/") && fits("\(runtime)/push-registry-0123456789abcdef")
            ? runtime : "/tmp"
    }

    /// FNV-1a, 64 bits, in hexadecimal: unlike `Hasher` it is the same in every process.
    private static func hash(_ text: String) -> String {
        let value = text.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        return String(hex: value)
    }
}
