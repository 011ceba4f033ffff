import Basics

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
