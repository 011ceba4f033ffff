import Basics
import HTTPTypes
import HTTPWire
import Logging

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

/// Warns that a peer sends `X-Forwarded-For` and is not a trusted proxy: once, then at most every hour, however many
/// loops share it. Without the warning nobody would notice that all clients of a proxy count as one address.
final class UntrustedForwarding: Sendable {
    static let interval = Duration.seconds(3_600)

    private let warnedAt = Locked<ContinuousClock.Instant?>(nil)
    private let logger: Logger

    init(logger: Logger) {
        self.logger = logger
    }

    func report(_ peer: IPAddress, at now: ContinuousClock.Instant) {
        guard isDue(at: now) else { return }
        logger.warning(
            "X-Forwarded-For is ignored: its sender is not in --trusted-proxies, so its clients count as one address",
            metadata: ["peer": "\(peer)"])
    }

    /// Whether to warn now. The next warning is then due after `interval`.
    func isDue(at now: ContinuousClock.Instant) -> Bool {
        warnedAt.withLock { last in
            if let last, now - last < Self.interval { return false }
            last = now
            return true
        }
    }
}
