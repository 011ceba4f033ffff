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

/// Eight bytes at a time. The loads are bounds-checked, and any eight bytes are a valid `UInt64`. Little-endian order
/// puts the first byte lowest, so the lowest hit is the first.
extension Span<UInt8> {
    private static var ones: UInt64 { 0x0101_0101_0101_0101 }
    private static var highBits: UInt64 { 0x8080_8080_8080_8080 }

    /// The first index from `start` whose byte is not printable ASCII, or is a quote or a backslash; else `count`.
    func endOfPlainText(from start: Int) -> Int {
        var at = start
        while at &+ 8 <= count {
            let hits = Self.specialBytes(in: word(at: at))
            guard hits == 0 else { return at &+ hits.trailingZeroBitCount / 8 }
            at &+= 8
        }
        while at < count, self[at] &- 0x20 < 0x60, self[at] != UInt8(ascii: "\""), self[at] != UInt8(ascii: "\\") {
            at &+= 1
        }
        return at
    }

    /// Whether the bytes from `start` on equal the name.
    func hasBytes(of name: StaticString, at start: Int) -> Bool {
        name.withUTF8Buffer { other in
            let other = other.span
            guard start &+ other.count <= count else { return false }
            return self.extracting(start..<(start &+ other.count)).isEqual(to: other)
        }
    }

    /// - Precondition: both are of the same length.
    func isEqual(to other: borrowing Span<UInt8>) -> Bool {
        var at = 0
        while at &+ 8 <= count {
            guard word(at: at) == other.word(at: at) else { return false }
            at &+= 8
        }
        while at < count {
            guard self[at] == other[at] else { return false }
            at &+= 1
        }
        return true
    }

    private func word(at offset: Int) -> UInt64 {
        UInt64(littleEndian: bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    /// Sets the high bit of every byte below 0x20, above 0x7F, or equal to quote or backslash. Above the first hit, a
    /// borrow may set further ones.
    private static func specialBytes(in word: UInt64) -> UInt64 {
        let controls = word &- 0x20 &* ones
        let quotes = (word ^ 0x22 &* ones) &- ones
        let backslashes = (word ^ 0x5C &* ones) &- ones
        return ((controls | quotes | backslashes) & ~word | word) & highBits
    }
}
