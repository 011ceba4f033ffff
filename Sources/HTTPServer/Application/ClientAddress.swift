import HTTPTypes
import HTTPWire

extension HTTPServerConfiguration {
    /// The address a request comes from: the peer's, unless the peer is a trusted proxy. Then it is the last address in
    /// `X-Forwarded-For` that is not a trusted proxy's; a client can forge the ones before it.
    func clientAddress(_ head: RequestHead, peer: IPAddress) -> IPAddress {
        guard isTrusted(peer), let list = head[.xForwardedFor] else { return peer }
        var client = peer
        for element in list.listElements().reversed() {
            guard let address = IPAddress(element) else { return client }
            client = address
            guard isTrusted(address) else { return client }
        }
        return client
    }

    private func isTrusted(_ address: IPAddress) -> Bool {
        trustedProxies.contains { $0.contains(address) }
    }
}
