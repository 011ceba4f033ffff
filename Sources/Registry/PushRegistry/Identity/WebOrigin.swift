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

/// The URL of an identity provider's key set (RFC 7517), or another one of its URLs. It must be https, or http to this
/// machine for development.
public struct KeySetURL: Hashable, Sendable {
    public static let bytesMax = 2_048
    /// The hosts that are allowed with http.
    private static let loopbackHosts = ["localhost", "127.0.0.1", "[::1]"]

    /// The URL with scheme and host in lower case.
    public let text: String
    /// Such as `https://login.example.com:8443`. Logs contain only this: the rest of a URL may contain a secret.
    public let origin: String

    /// - Throws: `InvalidValue` with the code `invalid-url`, or `too-long`.
    public init(_ text: String) throws(InvalidValue) {
        guard text.utf8.count <= Self.bytesMax else {
            throw InvalidValue(code: "too-long", detail: "At most \(Self.bytesMax) characters are allowed.")
        }
        guard VisibleASCII.contains(text), !text.contains("#"), let origin = Self.origin(of: text) else {
            throw InvalidValue(
                code: "invalid-url",
                detail: "This must be an absolute https URL without user and fragment; http only for localhost.")
        }
        // Both are ASCII, so lower case does not change the length.
        self.text = origin + text.dropFirst(origin.count)
        self.origin = origin
    }

    private static func origin(of url: String) -> String? {
        let plain = "http://"
        guard url.prefix(plain.count).lowercased() == plain else { return WebOrigin(prefixOf: url)?.text }
        guard let origin = WebOrigin(prefixOf: "https://" + url.dropFirst(plain.count)) else { return nil }
        let authority = origin.text.dropFirst("https://".count)
        let isLoopback = loopbackHosts.contains { authority == $0 || authority.hasPrefix($0 + ":") }
        return isLoopback ? plain + authority : nil
    }
}
