import Basics
import CLinux
import Glibc

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
