import CCurl
import Glibc

/// The IP address of a peer, classified by the special-purpose registries of IANA (RFC 6890).
struct PeerAddress: Hashable, Sendable {
    enum Reach: Sendable {
        /// A public address.
        case global
        /// An address of a private network: RFC 1918, RFC 6598, RFC 4193.
        case privateNetwork
        /// This machine.
        case loopback
        /// Link-local (clouds serve credentials there), multicast, reserved, or for documentation.
        case special
    }

    /// 4 or 16 bytes in network order.
    let bytes: [UInt8]

    /// Nil for families other than IPv4 and IPv6.
    init?(_ address: UnsafePointer<sockaddr>) {
        switch Int32(address.pointee.sa_family) {
        case AF_INET:
            bytes = address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { pointer in
                withUnsafeBytes(of: pointer.pointee.sin_addr) { Array($0) }
            }
        case AF_INET6:
            bytes = address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { pointer in
                withUnsafeBytes(of: pointer.pointee.sin6_addr) { Array($0) }
            }
        default: return nil
        }
    }

    /// Nil if the text is not an address.
    init?(_ text: String) {
        var (short, long) = (in_addr(), in6_addr())
        if inet_pton(AF_INET, text, &short) == 1 {
            bytes = withUnsafeBytes(of: short) { Array($0) }
        } else if inet_pton(AF_INET6, text, &long) == 1 {
            bytes = withUnsafeBytes(of: long) { Array($0) }
        } else {
            return nil
        }
    }

    private init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    var reach: Reach { bytes.count == 4 ? reachOfIPv4 : reachOfIPv6 }

    private var reachOfIPv4: Reach {
        switch (bytes[0], bytes[1], bytes[2]) {
        case (127, _, _): .loopback
        case (10, _, _), (172, 16...31, _), (192, 168, _), (100, 64...127, _): .privateNetwork
        case (0, _, _), (169, 254, _), (192, 0, 0), (192, 0, 2), (198, 18...19, _), (198, 51, 100), (203, 0, 113),
            (224...255, _, _):
            .special
        default: .global
        }
    }

    private var reachOfIPv6: Reach {
        if let inner = embeddedIPv4 { return inner.reach }
        if bytes == Array(repeating: 0, count: 15) + [1] { return .loopback }
        if bytes[0] & 0xFE == 0xFC { return .privateNetwork }
        // Global unicast is 2000::/3, except 2001::/23 (protocols) and 2001:db8::/32 (documentation).
        guard bytes[0] & 0xE0 == 0x20 else { return .special }
        let isOfProtocols = bytes[0] == 0x20 && bytes[1] == 0x01 && bytes[2] < 0x02
        let isOfDocumentation = bytes.starts(with: [0x20, 0x01, 0x0D, 0xB8])
        return isOfProtocols || isOfDocumentation ? .special : .global
    }

    /// The IPv4 address that is reached by a mapped address (::ffff:0:0/96), by NAT64 (64:ff9b::/96) or by 6to4
    /// (2002::/16).
    private var embeddedIPv4: PeerAddress? {
        let mapped: [UInt8] = Array(repeating: 0, count: 10) + [0xFF, 0xFF]
        let translated: [UInt8] = [0x00, 0x64, 0xFF, 0x9B] + Array(repeating: 0, count: 8)
        if bytes.starts(with: mapped) || bytes.starts(with: translated) {
            return PeerAddress(bytes: Array(bytes[12..<16]))
        }
        return bytes.starts(with: [0x20, 0x02]) ? PeerAddress(bytes: Array(bytes[2..<6])) : nil
    }
}

extension PeerAddress: CustomStringConvertible {
    /// In the format of inet_ntop(3).
    var description: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let family = bytes.count == 4 ? AF_INET : AF_INET6
        guard inet_ntop(family, bytes, &text, socklen_t(text.count)) != nil else { return "?" }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
