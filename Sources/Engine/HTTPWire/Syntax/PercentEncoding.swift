import Basics

/// Percent-encoding of RFC 3986 section 2.1, decoded strictly.
public enum PercentEncoding {
    /// Decodes one component of a URI, after it was separated from the others.
    ///
    /// - Parameter plusIsSpace: whether `+` is a space, as in `application/x-www-form-urlencoded`.
    /// - Throws: `invalidPercentEncoding` if `%` is not followed by two hexadecimal digits, or if the result is not
    ///   UTF-8 or contains NUL, which PostgreSQL cannot store.
    public static func decode(
        _ encoded: ArraySlice<UInt8>, plusIsSpace: Bool = false
    ) throws(WireError) -> String {
        if encoded.allSatisfy({ isPlain($0, plusIsSpace) }) { return String(decoding: encoded, as: UTF8.self) }
        var decoded: [UInt8] = []
        decoded.reserveCapacity(encoded.count)
        var index = encoded.startIndex
        while index < encoded.endIndex {
            let (byte, next) = try decodeByte(encoded, at: index, plusIsSpace)
            guard byte != 0 else { throw WireError(.invalidPercentEncoding) }
            decoded.append(byte)
            index = next
        }
        guard let string = String(validating: decoded, as: UTF8.self) else {
            throw WireError(.invalidPercentEncoding)
        }
        return string
    }

    /// Whether the byte needs no decoding, like nearly all. It is ASCII, so a text of such bytes is valid UTF-8.
    private static func isPlain(_ byte: UInt8, _ plusIsSpace: Bool) -> Bool {
        byte != UInt8(ascii: "%") && byte != 0 && byte < 0x80 && !(plusIsSpace && byte == UInt8(ascii: "+"))
    }

    private static func decodeByte(
        _ encoded: ArraySlice<UInt8>, at index: Int, _ plusIsSpace: Bool
    ) throws(WireError) -> (byte: UInt8, next: Int) {
        switch encoded[index] {
        case UInt8(ascii: "+") where plusIsSpace:
            return (.space, index + 1)
        case UInt8(ascii: "%"):
            guard index + 2 < encoded.endIndex, let high = encoded[index + 1].hexDigitValue,
                let low = encoded[index + 2].hexDigitValue
            else { throw WireError(.invalidPercentEncoding) }
            return (high << 4 | low, index + 3)
        case let byte:
            return (byte, index + 1)
        }
    }
}
