import Foundation
import Glibc

/// The account that runs a server's processes.
package struct ServerUser: Equatable, Sendable {
    let name: String
    let userID: uid_t
    let groupID: gid_t

    /// The user for a server that this process creates: this process's own user, unless that is root, because
    /// PostgreSQL refuses to run as root. Then `postgres`, which its packages create, or else `nobody`.
    static func forNewServer() -> ServerUser {
        guard geteuid() == 0 else { return current() }
        return named("postgres") ?? named("nobody") ?? ServerUser(name: "nobody", userID: 65534, groupID: 65534)
    }

    /// Whether other programs may run as this user too: they could access the server's socket and files.
    var isShared: Bool { name == "nobody" }

    /// Whether this process runs as a different user.
    var isAnother: Bool { userID != geteuid() }

    static func withID(_ userID: uid_t) -> ServerUser? {
        lookUp { entry, buffer, size, found in getpwuid_r(userID, entry, buffer, size, found) }
    }

    private static func current() -> ServerUser {
        ServerUser(name: withID(geteuid())?.name ?? "\(geteuid())", userID: geteuid(), groupID: getegid())
    }

    private static func named(_ name: String) -> ServerUser? {
        lookUp { entry, buffer, size, found in getpwnam_r(name, entry, buffer, size, found) }
    }

    private typealias LookUp = (
        UnsafeMutablePointer<passwd>, UnsafeMutablePointer<CChar>, Int,
        UnsafeMutablePointer<UnsafeMutablePointer<passwd>?>
    ) -> CInt

    /// Searches the account database, thread-safely.
    private static func lookUp(_ query: LookUp) -> ServerUser? {
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        // An entry contains a name, a home and a shell; 16 KiB are enough for any real one.
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 16_384) { buffer in
            guard let base = buffer.baseAddress, query(&entry, base, buffer.count, &found) == 0, found != nil else {
                return nil
            }
            return ServerUser(name: String(cString: entry.pw_name), userID: entry.pw_uid, groupID: entry.pw_gid)
        }
    }
}
