import Basics
import Glibc

/// A proxy in front of a PostgreSQL server that acts as a pooler in transaction mode: after the login, all clients have
/// the first one's session of the server. They must take turns.
public final class SharingProxy: Sendable {
    private struct Shared {
        let session: ProxiedSession
        /// The client that sent last, and gets the response.
        var client: CInt
    }

    private let proxy: PostgresProxy

    public var connectionString: String { proxy.connectionString }

    /// - Parameter connectionString: keywords, with the folder of the server's socket as `host`.
    public init(_ connectionString: String) throws {
        let shared = Locked<Shared?>(nil)
        proxy = try PostgresProxy(connectionString) { session in
            shared.withLock { if $0 == nil { $0 = Shared(session: session, client: session.client) } }
            return { isFromClient in
                var buffer = [UInt8](repeating: 0, count: 65_536)
                var isLoggedIn = false
                while true {
                    let count = recv(isFromClient ? session.client : session.server, &buffer, buffer.count, 0)
                    // `X` is Terminate, which would end the session of the others.
                    guard count > 0, !isFromClient || buffer[0] != UInt8(ascii: "X") else { break }
                    let target = shared.withLock { shared -> CInt in
                        guard let first = shared?.session else { return -1 }
                        if isFromClient, isLoggedIn { shared?.client = session.client }
                        if isFromClient { return isLoggedIn ? first.server : session.server }
                        return first === session ? shared?.client ?? -1 : session.client
                    }
                    isLoggedIn = true
                    guard send(target, buffer, count, CInt(MSG_NOSIGNAL)) == count else { break }
                }
            }
        }
    }

    public func stop() { proxy.stop() }
}
