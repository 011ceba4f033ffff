/// A text in base64url (RFC 4648 section 5), decoded strictly: unused bits of the last digit must be zero, so that each
/// value has exactly one text without padding.
public struct Base64URL {
    /// The decoded value; empty for an empty text.
    public let bytes: [UInt8]
    /// The digits as given, without padding.
    public let text: String

    /// Decodes a text with or without padding. Nil if it contains anything but digits and padding at the end, has an
    /// impossible length, or has unused bits that are not zero.
    public init?(_ padded: String) {
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

    /// Whether the byte is one of the 64 digits.
    public static func isDigit(_ byte: UInt8) -> Bool { value(of: byte) != nil }

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

extension Base64URL {
    /// The 64 digits, in the order of their values.
    public static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    /// The digits of bytes, without padding.
    public static func text(of bytes: some Collection<UInt8>) -> [UInt8] { text(of: Array(bytes)) }

    /// The digits of bytes, without padding.
    public static func text(of bytes: [UInt8]) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count * 4 / 3 + 3)
        append(bytes, to: &text)
        return text
    }

    /// Appends the digits of bytes, without padding: four for each three bytes, then two for a single last byte or
    /// three for two.
    public static func append(_ bytes: [UInt8], to text: inout [UInt8]) {
        digits.withUnsafeBufferPointer { digits in
            for start in stride(from: 0, to: bytes.count, by: 3) {
                let count = min(3, bytes.count - start)
                var bits = UInt32(bytes[start]) << 16
                if count > 1 { bits |= UInt32(bytes[start + 1]) << 8 }
                if count > 2 { bits |= UInt32(bytes[start + 2]) }
                let group = (
                    digits[Int(bits >> 18)], digits[Int(bits >> 12 & 63)], digits[Int(bits >> 6 & 63)],
                    digits[Int(bits & 63)]
                )
                withUnsafeBytes(of: group) { text.append(contentsOf: $0.prefix(count + 1)) }
            }
        }
    }
}

extension String {
    /// The base64url digits of bytes, without padding.
    public init(base64URL bytes: some Collection<UInt8>) {
        self.init(decoding: Base64URL.text(of: bytes), as: UTF8.self)
    }
}
