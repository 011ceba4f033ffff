import Basics
import HTTPTypes
import HTTPWire

extension HTTPServerConfiguration {
    /// The address a request comes from: the peer's, unless the peer is a trusted proxy. Then it is the last address in
    /// `X-Forwarded-For` that is not a trusted proxy's; a client can forge the ones before it.
    func clientAddress(_ head: RequestHead, peer: IPAddress) -> IPAddress {
        guard isTrusted(peer), let list = head[.xForwardedFor] else { return peer }
        var client = peer
        for element in list.listElements().reversed() {
            guard let address = IPAddress(forwarded: element) else { return client }
            client = address
            guard isTrusted(address) else { return client }
        }
        return client
    }

    func isTrusted(_ address: IPAddress) -> Bool {
        trustedProxies.contains { $0.contains(address) }
    }
}

extension IPAddress {
    /// Reads an element of `X-Forwarded-For`. Some proxies add the client's port, brackets or quotes.
    fileprivate init?(forwarded element: String) {
        let text = element.filter { $0 != "\"" }
        if let address = IPAddress(text) {
            self = address
        } else if let host = (ListenAddress(text) ?? ListenAddress(text + ":0"))?.host, let address = IPAddress(host) {
            self = address
        } else {
            return nil
        }
    }
}

extension HTTPField.Name {
    static let xForwardedFor = HTTPField.Name("X-Forwarded-For")!
}
