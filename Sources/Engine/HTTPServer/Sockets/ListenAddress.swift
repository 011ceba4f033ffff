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
