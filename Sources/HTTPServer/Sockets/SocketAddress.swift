import CLinux
import Glibc

/// An IP address without a port. An IPv4 address mapped into IPv6 is treated as IPv4.
public struct IPAddress: Hashable, Sendable {
    /// The address as two words in host byte order; an IPv4 address in its mapped form, `::ffff:a.b.c.d`.
    let high: UInt64
    let low: UInt64

    /// Reads `192.0.2.1` or `2001:db8::1`; nil for any other text, host names included.
    public init?(_ text: String) {
        var (v4, v6) = (in_addr(), in6_addr())
        if inet_pton(AF_INET, text, &v4) == 1 {
            self.init(v4)
        } else if inet_pton(AF_INET6, text, &v6) == 1 {
            self.init(v6)
        } else {
            return nil
        }
    }

    init(_ address: in_addr) {
        high = 0
        low = 0xFFFF_0000_0000 | UInt64(UInt32(bigEndian: address.s_addr))
    }

    init(_ address: in6_addr) {
        self = withUnsafeBytes(of: address) { IPAddress(ipv6: $0) }
    }

    /// Reads the 16 bytes of an `in6_addr`. Its alignment is 4, that of a word here 8, so any place must do.
    init(ipv6 bytes: UnsafeRawBufferPointer) {
        high = UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self))
        low = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    }

    private init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// True also for an IPv4 address that the system reports in its IPv6-mapped form.
    public var isIPv4: Bool { high == 0 && low >> 32 == 0xFFFF }

    /// Whether it always means this machine: 127.0.0.0/8 and ::1.
    public var isLoopback: Bool { isIPv4 ? low >> 24 & 0xFF == 127 : high == 0 && low == 1 }

    /// The unit of per-client limits: one IPv4 address, or the /64 of an IPv6 address, because one host can use all of
    /// it.
    public var network: IPAddress { isIPv4 ? self : IPAddress(high: high, low: 0) }
}

extension IPAddress: CustomStringConvertible {
    public var description: String {
        isIPv4 ? ipv4Description : ipv6Description
    }

    private var ipv4Description: String {
        "\(low >> 24 & 0xFF).\(low >> 16 & 0xFF).\(low >> 8 & 0xFF).\(low & 0xFF)"
    }

    private var ipv6Description: String {
        let words = (high.bigEndian, low.bigEndian)
        return withUnsafeBytes(of: words) { address in
            withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { text in
                _ = inet_ntop(AF_INET6, address.baseAddress, text.baseAddress, socklen_t(text.count))
                return String(cString: text.baseAddress!)
            }
        }
    }
}

/// The address of one end of a TCP connection.
public struct SocketAddress: Hashable, Sendable {
    /// Without the zone of a link-local IPv6 address.
    public let ip: IPAddress
    /// In host byte order.
    public let port: UInt16
}

extension SocketAddress {
    /// Reads the address that a socket call filled in; nil for families other than IP.
    init?(_ storage: sockaddr_storage) {
        var storage = storage
        switch CInt(storage.ss_family) {
        case AF_INET:
            let address = storage.reinterpreted(as: sockaddr_in.self)
            self.init(ip: IPAddress(address.sin_addr), port: UInt16(bigEndian: address.sin_port))
        case AF_INET6:
            let address = storage.reinterpreted(as: sockaddr_in6.self)
            self.init(ip: IPAddress(address.sin6_addr), port: UInt16(bigEndian: address.sin6_port))
        default:
            return nil
        }
    }
}

extension SocketAddress: CustomStringConvertible {
    public var description: String { ip.isIPv4 ? "\(ip):\(port)" : "[\(ip)]:\(port)" }
}

extension sockaddr_storage {
    /// The same bytes as another socket address type; all of them fit into this one.
    fileprivate mutating func reinterpreted<Address>(as type: Address.Type) -> Address {
        withUnsafeBytes(of: &self) { $0.load(as: type) }
    }

    /// Lends the address to a socket call in the form that C requires.
    mutating func withSockaddr<Result>(_ body: (UnsafeMutablePointer<sockaddr>) -> Result) -> Result {
        withUnsafeMutableBytes(of: &self) { body($0.baseAddress!.assumingMemoryBound(to: sockaddr.self)) }
    }
}
