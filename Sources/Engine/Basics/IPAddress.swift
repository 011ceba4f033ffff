import Glibc

/// An IP address without a port. An IPv4 address mapped into IPv6 is treated as IPv4.
public struct IPAddress: Hashable, Sendable {
    /// The address as two words in host byte order; an IPv4 address in its mapped form, `::ffff:a.b.c.d`.
    package let high: UInt64
    package let low: UInt64

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

    package init(_ address: in_addr) {
        self.init(ipv4: UInt32(bigEndian: address.s_addr))
    }

    /// In host byte order.
    package init(ipv4 address: UInt32) {
        high = 0
        low = 0xFFFF_0000_0000 | UInt64(address)
    }

    package init(_ address: in6_addr) {
        self = withUnsafeBytes(of: address) { IPAddress(ipv6: $0) }
    }

    /// Reads the 16 bytes of an `in6_addr`. Its alignment is 4, that of a word here 8, so any place must do.
    init(ipv6 bytes: UnsafeRawBufferPointer) {
        high = UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self))
        low = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    }

    init(high: UInt64, low: UInt64) {
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

/// A block of IP addresses in CIDR notation: `10.0.0.0/8`, `fd00::/8`, or a single address.
public struct AddressRange: Hashable, Sendable {
    private let first: IPAddress
    /// The number of leading bits that all addresses share. An IPv4 prefix counts in its IPv6-mapped form, so it is 96
    /// more than written.
    private let prefixLength: Int

    /// Nil if the text is not an address with an optional prefix length.
    public init?(_ text: String) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = IPAddress(String(parts[0])) else { return nil }
        let bits = address.isIPv4 ? 32 : 128
        guard let length = parts.count == 1 ? bits : Int(parts[1]), (0...bits).contains(length) else { return nil }
        first = address
        prefixLength = length + 128 - bits
    }

    /// Compares the prefix only. An IPv4 address mapped into IPv6 is treated as IPv4.
    public func contains(_ address: IPAddress) -> Bool {
        let highMask = prefixLength >= 64 ? UInt64.max : ~(UInt64.max >> UInt64(prefixLength))
        let lowMask = prefixLength >= 128 ? UInt64.max : ~(UInt64.max >> UInt64(max(0, prefixLength - 64)))
        return (address.high ^ first.high) & highMask == 0 && (address.low ^ first.low) & lowMask == 0
    }
}
