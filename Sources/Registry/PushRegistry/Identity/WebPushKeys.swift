import Basics

/// The keys of a Web Push subscription (RFC 8291, section 3.1), as `PushSubscription.toJSON()` returns them, without
/// padding. Secrets without a printable form.
public struct WebPushKeys: Hashable, Sendable {
    /// The user agent's public key: an uncompressed point on P-256, 65 bytes as base64url.
    public let p256dh: String
    /// The authentication secret: 16 bytes as base64url.
    public let auth: String

    /// - Throws: `InvalidKeys` with a reason for each key that is wrong.
    public init(p256dh: String, auth: String) throws(InvalidKeys) {
        let point = Base64URL(p256dh).flatMap { $0.bytes.count == 65 && $0.bytes[0] == 4 ? $0.text : nil }
        let secret = Base64URL(auth).flatMap { $0.bytes.count == 16 ? $0.text : nil }
        guard let point, let secret else {
            throw InvalidKeys(p256dh: point == nil ? .invalidPoint : nil, auth: secret == nil ? .invalidSecret : nil)
        }
        self.p256dh = point
        self.auth = secret
    }

    /// The fault of each key; at least one is not nil.
    public struct InvalidKeys: Error, Hashable, Sendable {
        public let p256dh: InvalidValue?
        public let auth: InvalidValue?
    }
}

extension WebPushKeys: Redacted {}

extension InvalidValue {
    fileprivate static let invalidPoint = InvalidValue(
        code: "invalid-key", detail: "p256dh must be base64url of an uncompressed P-256 point (65 bytes).")
    fileprivate static let invalidSecret = InvalidValue(
        code: "invalid-key", detail: "auth must be base64url of 16 bytes.")
}
