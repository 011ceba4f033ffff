import CLinux
import Glibc

/// A listening socket that the parent process opened and keeps open: systemd's socket activation (sd_listen_fds(3)).
///
/// While no process serves it, clients wait in its queue instead of being refused, so that a service can be restarted
/// without a failed connection.
public struct InheritedSocket: Hashable, Sendable {
    /// The first inherited descriptor; the others follow it (`SD_LISTEN_FDS_START`).
    private static let firstDescriptor: CInt = 3
    /// A larger count is taken for a mistake.
    private static let countMax = 256
    private static let variables = ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"]

    let descriptor: CInt
    /// The name that the parent process gave it, else `unknown`.
    public let name: String

    /// Adopts the sockets that were passed to this process; usually there are none. Child processes do not inherit
    /// them: the descriptors get close-on-exec and the variables are removed.
    ///
    /// Call it once, before any other thread reads the environment.
    ///
    /// - Throws: `InheritedSocketError` if a descriptor is not a listening TCP socket.
    public static func adoptAll() throws -> [InheritedSocket] {
        let values = variables.map { getenv($0).map { String(cString: $0) } }
        for name in variables { unsetenv(name) }
        let sockets = announced(values[0], count: values[1], names: values[2], processID: getpid())
        for socket in sockets { try socket.adopt() }
        return sockets
    }

    /// The sockets that the three variables announce for this process id; none if they were meant for another process.
    static func announced(
        _ announcedProcessID: String?, count: String?, names: String?, processID: pid_t
    ) -> [InheritedSocket] {
        guard announcedProcessID.flatMap({ pid_t($0) }) == processID, let count = count.flatMap({ Int($0) }),
            (1...countMax).contains(count)
        else { return [] }
        let names = (names ?? "").split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        return (0..<count).map { index in
            let name = index < names.count ? names[index] : ""
            return InheritedSocket(
                descriptor: firstDescriptor + CInt(index), name: name.isEmpty ? "unknown" : name)
        }
    }

    /// Sets the descriptor to close-on-exec and non-blocking.
    ///
    /// - Throws: `InheritedSocketError` if it is not a listening TCP socket.
    func adopt() throws {
        guard fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0 else {
            throw InheritedSocketError(self, String(cString: strerror(errno)))
        }
        guard option(SO_TYPE) == CInt(SOCK_STREAM.rawValue), option(SO_ACCEPTCONN) == 1, address != nil else {
            throw InheritedSocketError(
                self, "it is not a listening TCP socket (ListenStream= with an IP address or a port)")
        }
        let flags = fcntl(descriptor, F_GETFL)
        guard fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) == 0 else {
            throw InheritedSocketError(self, String(cString: strerror(errno)))
        }
    }

    private func option(_ name: CInt) -> CInt? {
        var (value, length) = (CInt(0), socklen_t(MemoryLayout<CInt>.size))
        return getsockopt(descriptor, SOL_SOCKET, name, &value, &length) == 0 ? value : nil
    }

    /// The address it listens at; nil for families other than IP.
    var address: SocketAddress? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        guard storage.withSockaddr({ getsockname(descriptor, $0, &length) }) == 0 else { return nil }
        return SocketAddress(storage)
    }
}

/// An inherited descriptor cannot be used.
public struct InheritedSocketError: Error, CustomStringConvertible {
    private let socket: InheritedSocket
    private let reason: String

    init(_ socket: InheritedSocket, _ reason: String) {
        self.socket = socket
        self.reason = reason
    }

    public var description: String {
        "cannot listen on the inherited socket \(socket.name) (descriptor \(socket.descriptor)): \(reason)"
    }
}
