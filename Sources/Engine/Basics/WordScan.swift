import Glibc

extension UnsafeRawBufferPointer {
    /// Whether the text contains a word.
    ///
    /// - Parameter rare: the index of a letter of the word that few texts have often.
    public func contains(_ word: StaticString, rare: Int) -> Bool {
        guard let start = baseAddress else { return false }
        let end = start + count
        var position = start
        while let letter = memchr(position, CInt(word.utf8Start[rare]), end - position) {
            let candidate = UnsafeRawPointer(letter) - rare
            if candidate >= start, end - candidate >= word.utf8CodeUnitCount,
                memcmp(candidate, word.utf8Start, word.utf8CodeUnitCount) == 0
            {
                return true
            }
            position = UnsafeRawPointer(letter) + 1
        }
        return false
    }

    /// Whether `isFound` is true of any word: eight bytes after eight bytes, the last word overlapping the one before.
    /// A text shorter than a word is padded in front with the letter `a`.
    @inlinable @inline(__always)
    public func hasWord(where isFound: (UInt64) -> Bool) -> Bool {
        guard count >= 8 else { return isFound(reduce(UInt64(repeating: 0x61)) { $0 << 8 | UInt64($1) }) }
        for offset in stride(from: 0, to: count - 7, by: 8)
        where isFound(loadUnaligned(fromByteOffset: offset, as: UInt64.self)) {
            return true
        }
        return isFound(loadUnaligned(fromByteOffset: count - 8, as: UInt64.self))
    }
}

/// Anderson, Bit Twiddling Hacks, "Determine if a word has a byte less than n" and "equal to n".
extension UInt64 {
    /// The byte in each of the eight positions.
    @inlinable @inline(__always)
    public init(repeating byte: UInt8) {
        self = 0x0101_0101_0101_0101 &* UInt64(byte)
    }

    /// Whether any of the eight bytes, taken as unsigned, is less than `limit`.
    ///
    /// - Parameter limit: at most 128.
    @inlinable @inline(__always)
    public func hasByte(below limit: UInt8) -> Bool {
        (self &- UInt64(repeating: limit)) & ~self & UInt64(repeating: 0x80) != 0
    }

    /// Whether any of the eight bytes equals `byte`.
    @inlinable @inline(__always)
    public func hasByte(_ byte: UInt8) -> Bool {
        (self ^ UInt64(repeating: byte)).hasByte(below: 1)
    }
}
