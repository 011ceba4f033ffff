/// Whom a fetch may call.
public enum Peers: Sendable {
    /// Machines with a public address, by TLS with a certificate. For URLs of somebody who must not reach others.
    case everybodys
    /// Those, machines of private networks, and this machine, which may do without TLS.
    case privateToo
    /// The service of this machine, at whatever address it listens. Its certificate is of another name than the address
    /// that is called, and is not verified.
    case ownMachine

    func include(_ reach: PeerAddress.Reach, isPlain: Bool) -> Bool {
        switch (self, reach) {
        case (.ownMachine, _): true
        case (_, .global): !isPlain
        case (.privateToo, .privateNetwork): !isPlain
        case (.privateToo, .loopback): true
        case (.everybodys, .privateNetwork), (.everybodys, .loopback), (_, .special): false
        }
    }

    var needCertificates: Bool {
        switch self {
        case .everybodys, .privateToo: true
        case .ownMachine: false
        }
    }
}
