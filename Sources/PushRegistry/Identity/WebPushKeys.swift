/// The keys of a Web Push subscription (RFC 8291, section 3.1) as `PushSubscription.toJSON()` gives them, without
/// padding. A secret: they have no printable form.
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

    /// What is wrong with each key; at least one is.
    public struct InvalidKeys: Error, Hashable, Sendable {
        public let p256dh: InvalidValue?
        public let auth: InvalidValue?
    }
}

extension WebPushKeys: Unprintable {}

extension InvalidValue {
    fileprivate static let invalidPoint = InvalidValue(
        code: "invalid-key", detail: "p256dh is base64url of an uncompressed P-256 point, 65 bytes.")
    fileprivate static let invalidSecret = InvalidValue(
        code: "invalid-key", detail: "auth is base64url of 16 bytes.")
}

/// base64url (RFC 4648, section 5), padded or not, without stray bits at the end: one text per value.
package struct Base64URL {
    package let bytes: [UInt8]
    /// Without padding.
    package let text: String

    package init?(_ padded: String) {
        let digits = padded.utf8.reversed().drop { $0 == UInt8(ascii: "=") }.reversed()
        let padding = padded.utf8.count - digits.count
        guard padding == 0 || (padding <= 2 && padded.utf8.count % 4 == 0), digits.count % 4 != 1 else { return nil }
        var bytes: [UInt8] = []
        var bits: UInt32 = 0
        var bitCount = 0
        for digit in digits {
            guard let value = Self.value(of: digit) else { return nil }
            bits = bits << 6 | value
            bitCount += 6
            if bitCount >= 8 {
                bitCount -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(bitCount)))
                bits &= (1 << UInt32(bitCount)) - 1
            }
        }
        guard bits == 0 else { return nil }
        self.bytes = bytes
        text = String(decoding: digits, as: UTF8.self)
    }

    private static func value(of digit: UInt8) -> UInt32? {
        switch digit {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(digit - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(digit - UInt8(ascii: "a")) + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(digit - UInt8(ascii: "0")) + 52
        case UInt8(ascii: "-"): 62
        case UInt8(ascii: "_"): 63
        default: nil
        }
    }
}
