import Basics

/// The push services whose Web Push endpoints an app's installations may register. Without the list, anybody with a
/// publishable key could make the app's sender call any host of its network.
///
/// An entry is a host, `host:port` for a port other than 443, `*.` and a domain for all hosts below it, or `*` for all.
/// Neither `*` nor a domain stands for an IP address, `localhost` or another port: these need entries of their own.
public struct WebPushHosts: Hashable, Sendable {
    public static let countMax = 100

    /// In canonical form (``canonical(_:)``).
    public let entries: [String]

    /// The services of the browsers.
    public static let standard = [
        "fcm.googleapis.com", "jmt17.google.com", "updates.push.services.mozilla.com",
        "*.push.services.mozilla.com", "*.notify.windows.com", "*.push.apple.com",
    ]

    public init(entries: [String] = standard) {
        self.entries = entries
    }

    /// Whether an installation may register the token. Every token of another provider than Web Push is allowed.
    public func allows(_ token: Token) -> Bool {
        guard token.provider == .webPush else { return true }
        guard let server = Server(token.text.dropFirst("https://".count).prefix { !"/?#".contains($0) }) else {
            return false
        }
        return entries.contains { entry in
            if entry == server.text { return true }
            guard server.isPublicName else { return false }
            return entry == "*" || entry.hasPrefix("*.") && server.text.hasSuffix(entry.dropFirst())
        }
    }

    /// An entry in lower case, without the port 443. Nil if it is none.
    public static func canonical(_ entry: String) -> String? {
        guard VisibleASCII.contains(entry) else { return nil }
        let text = entry.lowercased()
        if text == "*" { return text }
        guard text.hasPrefix("*.") else { return Server(text[...])?.text }
        let domain = text.dropFirst(2)
        guard let server = Server(domain), server.isPublicName, server.text == domain else { return nil }
        return text
    }

    /// A host and its port, as an endpoint or an entry names them in lower case.
    private struct Server {
        /// Without the port 443.
        let text: String
        /// Whether it is a name other than `localhost`, with the port 443.
        let isPublicName: Bool

        init?(_ authority: Substring) {
            guard let origin = WebOrigin(prefixOf: "https://" + authority),
                origin.text.dropFirst("https://".count) == authority
            else { return nil }
            let hostEnd = authority.first == "[" ? authority.firstIndex(of: "]").map(authority.index(after:)) : nil
            let host = authority[..<(hostEnd ?? authority.firstIndex(of: ":") ?? authority.endIndex)]
            let port = authority[host.endIndex...].dropFirst()
            let isName = Self.isName(host)
            guard isName || Self.isAddress(host) else { return nil }
            let hasDefaultPort = port.isEmpty || UInt16(port) == 443
            text = String(hasDefaultPort ? host : authority)
            isPublicName = isName && hasDefaultPort && host != "localhost" && !host.hasSuffix(".localhost")
        }

        /// Whether it is a name of the DNS without a trailing dot. A last label that is a number makes the host an IP
        /// address for many programs (`127.1`, `0x7f000001`).
        private static func isName(_ host: Substring) -> Bool {
            let labels = host.split(separator: ".", omittingEmptySubsequences: false)
            guard host.utf8.count <= 253, let last = labels.last, !last.hasPrefix("0x"), !last.allSatisfy(\.isNumber)
            else { return false }
            return labels.allSatisfy { label in
                (1...63).contains(label.utf8.count)
                    && label.allSatisfy { $0.isLetter || $0.isNumber || "-_".contains($0) }
            }
        }

        private static func isAddress(_ host: Substring) -> Bool {
            host.first == "["
                ? IPAddress(String(host.dropFirst().dropLast())).map { _ in true } ?? false
                : IPAddress(String(host))?.isIPv4 ?? false
        }
    }
}

extension InvalidValue {
    /// Of an endpoint that the app's policy does not allow.
    public static let pushServiceNotAllowed = InvalidValue(
        code: "push-service-not-allowed",
        detail: "The app's policy (webPushHosts) does not allow the push service of this endpoint.")
}
