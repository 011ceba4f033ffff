/// Whom a fetch may call.
public enum Peers: Sendable {
    /// Machines with a public address, by TLS with a certificate. For URLs of somebody who must not reach others.
    case publicOnly
    /// Those, machines of private networks, and this machine, which may do without TLS.
    case publicAndPrivate
    /// The service of this machine, at whatever address it listens. Its certificate is of another name than the address
    /// that is called, and is not verified.
    case ownService

    func include(_ reach: PeerAddress.Reach, isPlain: Bool) -> Bool {
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
