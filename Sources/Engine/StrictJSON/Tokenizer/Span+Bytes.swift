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
