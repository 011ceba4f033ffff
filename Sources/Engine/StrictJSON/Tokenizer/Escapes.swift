import Basics

/// Decodes the escapes of JSON strings (RFC 8259, section 7) in texts that the tokenizer has accepted.
enum Escapes {
    /// The decoded UTF-8; a lone surrogate becomes U+FFFD.
    static func decode(_ text: ArraySlice<UInt8>) -> [UInt8] {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(text.count)
        var rest = text
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "\\"), let escape = rest.popFirst() {
                append(escape, &rest, to: &decoded)
            } else {
                decoded.append(byte)
            }
        }
        return decoded
    }

    private static func append(_ escape: UInt8, _ rest: inout ArraySlice<UInt8>, to decoded: inout [UInt8]) {
        switch escape {
        case UInt8(ascii: "b"): decoded.append(0x08)
        case UInt8(ascii: "f"): decoded.append(0x0C)
        case UInt8(ascii: "n"): decoded.append(0x0A)
        case UInt8(ascii: "r"): decoded.append(0x0D)
        case UInt8(ascii: "t"): decoded.append(0x09)
        case UInt8(ascii: "u"): decoded.append(contentsOf: Array(String(takeScalar(&rest)).utf8))
        default: decoded.append(escape)
        }
    }

    /// Reads the scalar of a `\u` escape from its digits on, including the second half of a surrogate pair.
    private static func takeScalar(_ rest: inout ArraySlice<UInt8>) -> Unicode.Scalar {
        let unit = takeUnit(&rest)
        if let scalar = Unicode.Scalar(unit) { return scalar }
        var ahead = rest
        guard unit < 0xDC00, ahead.popFirst() == UInt8(ascii: "\\"), ahead.popFirst() == UInt8(ascii: "u") else {
            return "\u{FFFD}"
        }
        let low = takeUnit(&ahead)
        guard (0xDC00...0xDFFF).contains(low) else { return "\u{FFFD}" }
        rest = ahead
        return Unicode.Scalar(0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00)) ?? "\u{FFFD}"
    }

    private static func takeUnit(_ rest: inout ArraySlice<UInt8>) -> UInt32 {
        var unit: UInt32 = 0
        for _ in 0..<4 {
            unit = unit << 4 | UInt32(rest.popFirst()?.hexDigitValue ?? 0)
        }
        return unit
    }
}
