import HTTPTypes
import HTTPWire

/// Decides which requests may come from the console's own page: a page of another site must not act with the session of
/// its visitor (CSRF), and must not reach the console by a host name of its own (DNS rebinding).
public struct ConsoleOrigin: Sendable {
    /// The browser's `https://host:port` if a proxy ends TLS; nil if browsers connect to the service.
    private let configured: String?
    private let usesTLS: Bool

    /// - Parameter configured: the setting `consoleOrigin`, in lower case.
    public init(configured: String?, usesTLS: Bool) {
        (self.configured, self.usesTLS) = (configured, usesTLS)
    }

    /// - Throws: `foreignHost`, if over plain HTTP the request is for another host than this machine; `foreignPage`, if
    ///   it changes something and does not come from the console's page.
    func check(_ head: RequestHead) throws(APIError) {
        guard configured != nil || usesTLS || isLoopback(head.authority) else { throw .foreignHost }
        guard head.method == .get || head.method == .head || isOwnPage(head) else { throw .foreignPage }
    }

    /// Whether a browser says that the request comes from a page of this origin. Old browsers, and pages over plain
    /// HTTP, send no `Sec-Fetch-Site`; every browser sends `Origin` with an unsafe method.
    private func isOwnPage(_ head: RequestHead) -> Bool {
        let sites = head.values(of: .secFetchSite)
        guard sites.isEmpty else { return sites == ["same-origin"] }
        guard let sender = head[.origin], let own = origin(of: head) else { return false }
        return sender.lowercased() == own
    }

    /// The origin at which a browser sees the console.
    func origin(of head: RequestHead) -> String? {
        configured ?? head.authority.map { (usesTLS ? "https://" : "http://") + $0.lowercased() }
    }

    /// Whether the name of a host, with or without a port, always means this machine.
    private func isLoopback(_ authority: String?) -> Bool {
        guard let authority = authority?.lowercased() else { return false }
        return ["localhost", "127.0.0.1", "[::1]"].contains { name in
            authority == name || authority.hasPrefix(name + ":")
        }
    }
}

extension HTTPField.Name {
    fileprivate static let secFetchSite = HTTPField.Name("Sec-Fetch-Site")!
}
