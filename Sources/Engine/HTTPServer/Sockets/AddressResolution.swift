import CLinux
import Glibc

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
