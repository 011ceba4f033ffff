import Basics
import CCurl
import Glibc

/// Classes of addresses, by the special-purpose registries of IANA (RFC 6890).
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

extension IPAddress {
    /// Nil for families other than IPv4 and IPv6.
    init?(_ address: UnsafePointer<sockaddr>) {
        switch Int32(address.pointee.sa_family) {
        case AF_INET:
            self = address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { IPAddress($0.pointee.sin_addr) }
        case AF_INET6:
            self = address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { IPAddress($0.pointee.sin6_addr) }
        default: return nil
        }
    }

    var reach: Reach {
        if isLoopback { return .loopback }
        return isIPv4 ? reachOfIPv4 : reachOfIPv6
    }

    private var reachOfIPv4: Reach {
        switch (UInt8(low >> 24 & 0xFF), UInt8(low >> 16 & 0xFF), UInt8(low >> 8 & 0xFF)) {
        case (10, _, _), (172, 16...31, _), (192, 168, _), (100, 64...127, _): .privateNetwork
        case (0, _, _), (169, 254, _), (192, 0, 0), (192, 0, 2), (198, 18...19, _), (198, 51, 100), (203, 0, 113),
            (224...255, _, _):
            .special
        default: .global
        }
    }

    private var reachOfIPv6: Reach {
        if let embeddedIPv4 { return embeddedIPv4.reach }
        if high >> 57 == 0xFC >> 1 { return .privateNetwork }
        // Global unicast is 2000::/3, except 2001::/23 (protocols) and 2001:db8::/32 (documentation).
        guard high >> 61 == 1 else { return .special }
        return high >> 41 == 0x2001_0000 >> 9 || high >> 32 == 0x2001_0DB8 ? .special : .global
    }

    /// The IPv4 address that is reached by NAT64 (64:ff9b::/96) or by 6to4 (2002::/16).
    private var embeddedIPv4: IPAddress? {
        if high == 0x0064_FF9B_0000_0000, low >> 32 == 0 { return IPAddress(ipv4: UInt32(low)) }
        return high >> 48 == 0x2002 ? IPAddress(ipv4: UInt32(high >> 16 & 0xFFFF_FFFF)) : nil
    }
}

/// The peers that a fetch may connect to.
public enum Peers: Sendable {
    /// Public addresses, over TLS with a verified certificate. For URLs whose author may have no access to other
    /// machines.
    case publicOnly
    /// Also addresses of private networks, and this machine, with or without TLS.
    case publicAndPrivate
    /// The service of this machine, at any address. The certificate is not verified: it does not contain the address.
    case ownService

    func include(_ reach: Reach, isPlain: Bool) -> Bool {
        switch (self, reach) {
        case (.ownService, _): true
        case (_, .global): !isPlain
        case (.publicAndPrivate, .privateNetwork): !isPlain
        case (.publicAndPrivate, .loopback): true
        case (.publicOnly, .privateNetwork), (.publicOnly, .loopback), (_, .special): false
        }
    }

    var needCertificates: Bool {
        switch self {
        case .publicOnly, .publicAndPrivate: true
        case .ownService: false
        }
    }
}
