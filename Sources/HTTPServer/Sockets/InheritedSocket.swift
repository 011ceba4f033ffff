import CLinux
import Glibc

/// A listening socket that the parent process opened and keeps open: systemd's socket activation (sd_listen_fds(3)).
///
/// While no process serves it, clients wait in its queue rather than being refused; so a service can be restarted
/// without a failed connection.
public struct InheritedSocket: Hashable, Sendable {
    /// The descriptor of the first; the others follow it (`SD_LISTEN_FDS_START`).
    private static let firstDescriptor: CInt = 3
    /// More of them are a mistake.
    private static let countMax = 256
    private static let variables = ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"]

    let descriptor: CInt
    /// What the starter calls it, `unknown` where it says nothing.
    public let name: String

    /// Takes the sockets that were passed to this very process, none as a rule. Child processes neither inherit them
    /// nor hear of them: the variables are gone afterwards.
    ///
    /// Call it once, before there is anybody else who reads the environment.
    ///
    /// - Throws: `InheritedSocketError` for a descriptor that is no listening TCP socket.
    public static func takeAll() throws -> [InheritedSocket] {
        let values = variables.map { getenv($0).map { String(cString: $0) } }
        for name in variables { unsetenv(name) }
        let sockets = announced(values[0], count: values[1], names: values[2], processID: getpid())
        for socket in sockets { try socket.adopt() }
        return sockets
    }

    /// What the three variables announce to the process of this id: others' sockets are not its own.
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

    /// Makes the descriptor this process's alone, and non-blocking.
    ///
    /// - Throws: `InheritedSocketError` for one that is no listening TCP socket.
    func adopt() throws {
        guard fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0 else {
            throw InheritedSocketError(self, String(cString: strerror(errno)))
        }
        guard option(SO_TYPE) == CInt(SOCK_STREAM.rawValue), option(SO_ACCEPTCONN) == 1, address != nil else {
            throw InheritedSocketError(
                self, "it is no listening TCP socket (ListenStream= with an IP address or a port)")
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

    /// Where it listens; nil for families other than IP.
    var address: SocketAddress? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        guard storage.withSockaddr({ getsockname(descriptor, $0, &length) }) == 0 else { return nil }
        return SocketAddress(storage)
    }
}

/// A descriptor that was passed to the process is of no use to it.
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
