/// The origin of an https URL, in lower case: `https://host:port` (RFC 3986, sections 3.1 and 3.2).
public struct WebOrigin: Sendable {
    public let text: String

    /// Nil unless the text begins with `https://` and a host without user information.
    ///
    /// - Parameter url: visible ASCII.
    init?(prefixOf url: String) {
        let scheme = "https://"
        guard url.prefix(scheme.count).lowercased() == scheme else { return nil }
        let authority = url.dropFirst(scheme.count).prefix { !"/?#".contains($0) }.lowercased()
        guard Self.isHostAndPort(authority) else { return nil }
        text = scheme + authority
    }

    /// The whole text is an origin; the default port is left out, as browsers do.
    public init?(_ text: String) {
        guard text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), let origin = WebOrigin(prefixOf: text),
            origin.text.utf8.count == text.utf8.count
        else { return nil }
        self.text = origin.text.hasSuffix(":443") ? String(origin.text.dropLast(4)) : origin.text
    }

    private static func isHostAndPort(_ authority: String) -> Bool {
        let host: Substring
        if authority.first == "[" {
            guard let end = authority.firstIndex(of: "]") else { return false }
            host = authority[...end]
            guard host.dropFirst().dropLast().allSatisfy({ $0.isHexDigit || $0 == ":" || $0 == "." }) else {
                return false
            }
        } else {
            host = authority.prefix { $0 != ":" }
            guard host.allSatisfy({ $0.isLetter || $0.isNumber || "-._~%".contains($0) }) else { return false }
        }
        return !host.isEmpty && isPort(authority[host.endIndex...])
    }

    /// True of an empty text, and of a colon with a port number.
    private static func isPort(_ text: Substring) -> Bool {
        guard let colon = text.first else { return true }
        let digits = text.dropFirst()
        return colon == ":" && digits.utf8.allSatisfy(ASCII.isDigit) && UInt16(digits) != nil
    }
}
