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
