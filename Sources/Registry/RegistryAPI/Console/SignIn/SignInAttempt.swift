import Basics
import Crypto
import PushRegistry

/// A sign-in at the identity provider that has begun in a browser: its time and 256 random bits, in a cookie.
///
/// What the provider sees is derived from the cookie, so no process has to remember it: each value is an HMAC of its
/// own by the cookie's bytes. Who sees one of them learns neither the others nor the cookie.
struct SignInAttempt {
    static let lifetime = ISO8601Duration(seconds: 10 * 60)
    static let name = "__Host-push-registry-sign-in"
    private static let timeBytes = MemoryLayout<Int64>.size
    private static let randomBytes = 32

    private let bytes: [UInt8]

    init(at now: Timestamp) {
        let time = withUnsafeBytes(of: now.microseconds.bigEndian) { Array($0) }
        bytes = SymmetricKey(size: .bits256).withUnsafeBytes { time + Array($0) }
    }

    /// The one that a browser has returned; nil if it is not of this form, or has expired.
    init?(cookie: String, at now: Timestamp) {
        guard let bytes = Base64URL(cookie)?.bytes, bytes.count == Self.timeBytes + Self.randomBytes
        else { return nil }
        let time = bytes.prefix(Self.timeBytes).reduce(0) { $0 << 8 | Int64($1) }
        guard time > now.preceding(by: Self.lifetime).microseconds else { return nil }
        self.bytes = bytes
    }

    var state: String { derived("state") }
    var nonce: String { derived("nonce") }
    /// The `code_verifier` of RFC 7636.
    var verifier: String { derived("verifier") }
    /// The `code_challenge` by S256.
    var challenge: String {
        String(decoding: Base64URL.text(of: Array(SHA256.hash(data: Array(verifier.utf8)))), as: UTF8.self)
    }
    /// Names the attempt in the store, and reveals nothing of it.
    var sha256: [UInt8] { Array(SHA256.hash(data: bytes)) }

    /// Takes constant time.
    func hasState(_ text: String) -> Bool {
        guard let code = Base64URL(text)?.bytes else { return false }
        return HMAC<SHA256>.isValidAuthenticationCode(
            code, authenticating: Array("state".utf8), using: SymmetricKey(data: bytes))
    }

    private func derived(_ purpose: String) -> String {
        let code = HMAC<SHA256>.authenticationCode(for: Array(purpose.utf8), using: SymmetricKey(data: bytes))
        return String(decoding: Base64URL.text(of: Array(code)), as: UTF8.self)
    }

    /// The provider leads the browser back from another site, so the cookie must not be `Strict`.
    private static let attributes = "Path=/; HttpOnly; Secure; SameSite=Lax"

    /// `Set-Cookie`.
    var field: String {
        let value = String(decoding: Base64URL.text(of: bytes), as: UTF8.self)
        return "\(Self.name)=\(value); Max-Age=\(Self.lifetime.seconds); \(Self.attributes)"
    }

    /// `Set-Cookie` that removes it.
    static let removal = "\(name)=; Max-Age=0; \(attributes)"
}

extension SignInAttempt: CustomStringConvertible, CustomReflectable {
    var description: String { "‹sign-in›" }
    var customMirror: Mirror { Mirror(self, children: []) }
}
