import CLinux
import Glibc

/// The owner of one listening TCP socket.
///
/// Several may listen at one address, one for each event loop: the kernel distributes new connections by a hash of the
/// peer's address (socket(7), `SO_REUSEPORT`).
///
/// A second process at the same address fails to start instead of getting a part of the connections. So the first
/// socket is bound without `SO_REUSEPORT`, which fails for a second process. The option is set after that, for the
/// sockets of the other loops.
final class ListeningSocket: Sendable {
    /// Connections that the kernel completes before `accept`; it caps this at `net.core.somaxconn`.
    static let backlog: CInt = 4_096

    let descriptor: CInt
    let address: SocketAddress
    /// Whether all loops accept from one queue. Another process holds the queue too, and it outlives this process.
    let isInherited: Bool

    init(descriptor: CInt, address: SocketAddress, isInherited: Bool = false) {
        self.descriptor = descriptor
        self.address = address
        self.isInherited = isInherited
        // Accepted connections inherit it (tcp(7)): a response is sent at once, even if the last one is not
        // acknowledged.
        setOption(TCP_NODELAY, of: descriptor, level: CInt(IPPROTO_TCP))
    }

    deinit { close(descriptor) }

    /// Opens `count` sockets at each address of the host that the machine has: `localhost` may have two.
    ///
    /// - Returns: the sockets, grouped by address.
    static func open(_ address: ListenAddress, count: Int) throws -> [[ListeningSocket]] {
        var port = address.port
        return try openAvailable(AddressResolution.all(address)) { resolved in
            let first = try listening(resolved, port: port, address, isShared: false)
            setOption(SO_REUSEPORT, of: first.descriptor, level: SOL_SOCKET)
            port = first.address.port
            return try [first] + (1..<count).map { _ in try listening(resolved, port: port, address, isShared: true) }
        }
    }

    /// Opens each address, and skips those that the machine does not have: `localhost` has `::1` even where IPv6 is
    /// off.
    ///
    /// - Throws: the error of `open`; for a missing address only if all are missing.
    static func openAvailable<Address, Opened>(
        _ addresses: [Address], _ open: (Address) throws -> Opened
    ) throws -> [Opened] {
        var opened: [Opened] = []
        var missing: ListenError?
        for address in addresses {
            do {
                opened.append(try open(address))
            } catch let error as ListenError where error.isAddressMissing {
                missing = error
            }
        }
        if opened.isEmpty, let missing { throw missing }
        return opened
    }

    /// Returns `count` descriptors of one inherited socket, which stays open in the parent process.
    static func share(_ inherited: InheritedSocket, count: Int) throws -> [ListeningSocket] {
        guard let address = inherited.address else { throw InheritedSocketError(inherited, "it has no IP address") }
        return try (0..<count).map { _ in
            let descriptor = fcntl(inherited.descriptor, F_DUPFD_CLOEXEC, 0)
            guard descriptor >= 0 else { throw InheritedSocketError(inherited, String(cString: strerror(errno))) }
            return ListeningSocket(descriptor: descriptor, address: address, isInherited: true)
        }
    }

    private static func listening(
        _ resolved: AddressResolution, port: UInt16, _ address: ListenAddress, isShared: Bool
    ) throws -> ListeningSocket {
        let socket = try bound(resolved, port: port, address, isShared: isShared)
        guard listen(socket.descriptor, backlog) == 0 else { throw ListenError(address, "listen", errno: errno) }
        return socket
    }

    private static func bound(
        _ resolved: AddressResolution, port: UInt16, _ address: ListenAddress, isShared: Bool
    ) throws -> ListeningSocket {
        let type = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_NONBLOCK.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(resolved.family, type, 0)
        guard descriptor >= 0 else { throw ListenError(address, "socket", errno: errno) }
        setOption(SO_REUSEADDR, of: descriptor, level: SOL_SOCKET)
        // The wildcard address stands for IPv4, too, whatever net.ipv6.bindv6only says (ipv6(7)).
        if resolved.family == AF_INET6 { setOption(IPV6_V6ONLY, of: descriptor, level: CInt(IPPROTO_IPV6), to: 0) }
        if isShared { setOption(SO_REUSEPORT, of: descriptor, level: SOL_SOCKET) }
        var storage = resolved.storage(port: port)
        guard storage.withSockaddr({ bind(descriptor, $0, resolved.length) }) == 0 else {
            defer { close(descriptor) }
            throw ListenError(address, "bind", errno: errno)
        }
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        _ = storage.withSockaddr { getsockname(descriptor, $0, &length) }
        return ListeningSocket(descriptor: descriptor, address: SocketAddress(storage)!)
    }
}

extension ListeningSocket {
    /// Refuses new handshakes, while those that have begun can be completed and accepted. Closing at once would reset
    /// the connections in between, whose clients believe they are connected and may have sent a request.
    ///
    /// A socket filter drops segments with SYN (socket(7), `SO_ATTACH_FILTER`; the filter of a TCP socket sees the TCP
    /// header first). The client retries a second later, and finds another server or none.
    func dropHandshakes() {
        var program: [FilterInstruction] = [
            FilterInstruction(code: 0x30, k: 13),  // load the flags byte
            FilterInstruction(code: 0x45, otherwise: 1, k: 0x02),  // is SYN set?
            FilterInstruction(code: 0x06, k: 0),  // drop
            FilterInstruction(code: 0x06, k: .max),  // accept
        ]
        program.withUnsafeMutableBufferPointer { instructions in
            var filter = Filter(length: UInt16(instructions.count), instructions: instructions.baseAddress)
            setsockopt(descriptor, SOL_SOCKET, SO_ATTACH_FILTER, &filter, socklen_t(MemoryLayout<Filter>.size))
        }
    }

    /// `struct sock_filter` of linux/filter.h.
    private struct FilterInstruction {
        var code: UInt16
        var then: UInt8 = 0
        var otherwise: UInt8 = 0
        var k: UInt32
    }

    /// `struct sock_fprog`.
    private struct Filter {
        var length: UInt16
        var instructions: UnsafeMutablePointer<FilterInstruction>?
    }
}

/// Sets an integer socket option to 1.
func setOption(_ option: CInt, of descriptor: CInt, level: CInt, to value: CInt = 1) {
    var value = value
    setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<CInt>.size))
}
