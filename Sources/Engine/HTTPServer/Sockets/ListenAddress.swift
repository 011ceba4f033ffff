import CLinux
import Glibc

/// A host and a port to listen at, as an operator writes them.
public struct ListenAddress: Hashable, Sendable {
    /// A name or an address; empty for all addresses of the machine.
    public let host: String
    /// 0 lets the system choose; `HTTPServer.addresses` then has the port.
    public let port: UInt16

    /// Checks and resolves nothing; `HTTPServer.init` does.
    public init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// Reads `127.0.0.1:8080`, `[::1]:8080`, `localhost:8080` or `:8080`; nil for anything else.
    public init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            return nil
        }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            return nil
        }
        self.init(host: String(host), port: port)
    }
}

extension ListenAddress: CustomStringConvertible {
    public var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}

/// The reason why the server cannot listen at an address.
public struct ListenError: Error, CustomStringConvertible {
    /// As the operator wrote it. A host name may stand for several addresses, of which one failed.
    public let address: ListenAddress
    /// The step that failed, with the system's reason.
    public let reason: String
    /// Whether the machine does not have this address, or its family: IPv6 may be off.
    let isAddressMissing: Bool

    public var description: String { "cannot listen at \(address): \(reason)" }

    init(_ address: ListenAddress, _ step: String, errno code: CInt) {
        self.address = address
        reason = "\(step): \(String(cString: strerror(code)))"
        isAddressMissing = code == EAFNOSUPPORT || code == EADDRNOTAVAIL
    }

    init(_ address: ListenAddress, resolution code: CInt) {
        self.address = address
        reason = String(cString: gai_strerror(code))
        isAddressMissing = false
    }
}

/// One result of getaddrinfo(3), which blocks for names. So it is called before any loop has work.
struct AddressResolution {
    let family: CInt
    let length: socklen_t
    private var storage = sockaddr_storage()

    /// Every address of the host. For an empty host, the address that accepts IPv6 and IPv4 if the machine has IPv6,
    /// else IPv4's.
    static func all(_ address: ListenAddress) throws -> [AddressResolution] {
        guard address.host.isEmpty else { return try all(address, host: address.host) }
        let both = try all(address, host: "::")
        return both.allSatisfy(\.isAvailable) ? both : try all(address, host: "0.0.0.0")
    }

    private static func all(_ address: ListenAddress, host: String) throws -> [AddressResolution] {
        var hints = addrinfo()
        hints.ai_flags = AI_PASSIVE
        hints.ai_socktype = CInt(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let code = getaddrinfo(host, "0", &hints, &list)
        guard code == 0 else { throw ListenError(address, resolution: code) }
        defer { freeaddrinfo(list) }
        let entries = sequence(first: list) { $0?.pointee.ai_next }
        return entries.compactMap { $0.map { AddressResolution($0.pointee) } }
    }

    private init(_ entry: addrinfo) {
        family = entry.ai_family
        length = entry.ai_addrlen
        withUnsafeMutableBytes(of: &storage) {
            $0.copyMemory(from: UnsafeRawBufferPointer(start: entry.ai_addr, count: Int(entry.ai_addrlen)))
        }
    }

    /// Whether the system has this address.
    private var isAvailable: Bool {
        let descriptor = socket(family, CInt(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var anyPort = storage
        return descriptor >= 0 && anyPort.withSockaddr { bind(descriptor, $0, length) } == 0
    }

    /// The address with `port`, which both families store at the same offset.
    func storage(port: UInt16) -> sockaddr_storage {
        var copy = storage
        withUnsafeMutableBytes(of: &copy) { $0.storeBytes(of: port.bigEndian, toByteOffset: 2, as: UInt16.self) }
        return copy
    }
}
