import Basics
import Crypto
import HTTPTypes
import HTTPWire

/// The cookie of a session of the console: 256 random bits.
///
/// The prefix `__Host-` makes browsers refuse it from other hosts, other paths and plain HTTP, this machine's excepted.
/// A script cannot read it, and a page of another site cannot make a browser send it.
struct SessionCookie {
    static let name = "__Host-push-registry"

    private let value: String

    /// A random one.
    init() {
        value = SymmetricKey(size: .bits256).withUnsafeBytes { String(base64URL: Array($0)) }
    }

    /// The cookie of a request; nil if there is none of this form.
    init?(_ head: RequestHead) {
        guard let value = head.cookie(Self.name), value.utf8.count == 43, let bytes = Base64URL(value)?.bytes,
            bytes.count == 32
        else { return nil }
        self.value = value
    }

    /// The stored digest. The value is random, so one round of SHA-256 is enough.
    var sha256: [UInt8] { Array(SHA256.hash(data: Array(value.utf8))) }

    private static let attributes = "Path=/; HttpOnly; Secure; SameSite=Strict"

    /// `Set-Cookie`. The browser forgets it when it is closed.
    var field: String { "\(Self.name)=\(value); \(Self.attributes)" }

    /// `Set-Cookie` that removes it.
    static let removal = "\(name)=; Max-Age=0; \(attributes)"

    /// Binds a session of the admin key to the configured key.
    func proof(of admin: AdminKey) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: Array(value.utf8), using: SymmetricKey(data: admin.sha256)))
    }

    func isProven(_ proof: [UInt8], by admin: AdminKey) -> Bool {
        HMAC<SHA256>.isValidAuthenticationCode(
            proof, authenticating: Array(value.utf8), using: SymmetricKey(data: admin.sha256))
    }
}

extension SessionCookie: CustomStringConvertible, CustomReflectable {
    var description: String { "‹session›" }
    var customMirror: Mirror { Mirror(self, children: []) }
}

extension RequestHead {
    /// The value of the first cookie of this name.
    func cookie(_ name: String) -> String? {
        let pairs = self[.cookie]?.split(separator: ";").map { $0.drop { $0 == " " } } ?? []
        return pairs.first { $0.hasPrefix(name + "=") }.map { String($0.dropFirst(name.count + 1)) }
    }
}
