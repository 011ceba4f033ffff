extension Span<UInt8> {
    /// The first index in `start..<end` whose byte is not in `byteClass`, or `end`.
    @inline(__always)
    func end(of byteClass: ByteClass, from start: Int, to end: Int) -> Int {
        var index = start
        while index < end, byteClass.contains(self[index]) { index += 1 }
        return index
    }

    /// The first index in `start..<end` whose byte is not allowed in a field value, or `end`. Values are most of a
    /// head, so it reads a word at a time while all bytes are plain.
    @inline(__always)
    func endOfFieldContent(from start: Int, to end: Int) -> Int {
        var index = start
        while index + 8 <= end, isPlainFieldContent(wordAt: index) { index += 8 }
        while index < end, self[index].isFieldContent { index += 1 }
        return index
    }

    /// Whether the eight bytes at `index` are field content without HTAB: none is below 0x20 or equal to 0x7F.
    ///
    /// A byte below the subtracted one underflows, which sets its top bit. An underflow may spread upward and report a
    /// clean word; the loop over bytes then decides.
    @inline(__always)
    private func isPlainFieldContent(wordAt index: Int) -> Bool {
        let word = bytes.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self)
        let flipped = word ^ 0x7F7F_7F7F_7F7F_7F7F
        let below = (word &- 0x2020_2020_2020_2020) & ~word
        let delete = (flipped &- 0x0101_0101_0101_0101) & ~flipped
        return (below | delete) & 0x8080_8080_8080_8080 == 0
    }

    /// The first index in `start..<end` that is neither SP nor HTAB, or `end`.
    @inline(__always)
    func endOfSpace(from start: Int, to end: Int) -> Int {
        var index = start
        while index < end, self[index].isSpaceOrTab { index += 1 }
        return index
    }

    /// `range` without the optional white space (RFC 9110 section 5.6.3) at both ends.
    func trimmingSpace(_ range: Range<Int>) -> Range<Int> {
        let start = endOfSpace(from: range.lowerBound, to: range.upperBound)
        var end = range.upperBound
        while end > start, self[end - 1].isSpaceOrTab { end -= 1 }
        return start..<end
    }

    /// Whether the bytes, a token, equal `lowercase` in any case.
    ///
    /// - Parameter lowercase: lower-case letters, digits and hyphens. Setting bit 5 of any other `tchar` never results
    ///   in one of these.
    func isToken(_ lowercase: String) -> Bool {
        let expected = lowercase.utf8.span
        guard count == expected.count else { return false }
        for index in 0..<count where self[index] | 0x20 != expected[index] {
            return false
        }
        return true
    }

    /// The next element of a list (RFC 9110 section 5.6.1), trimmed, possibly empty; nil at the end.
    ///
    /// - Parameter position: where to start; moved past the element and its separator.
    func nextListElement(_ position: inout Int, separator: UInt8 = UInt8(ascii: ",")) -> Range<Int>? {
        guard position <= count else { return nil }
        var end = position
        while end < count, self[end] != separator { end += 1 }
        defer { position = end + 1 }
        return trimmingSpace(position..<end)
    }
}

extension String {
    /// The elements of a list in a field's value, without the white space around them. Empty elements are skipped (RFC
    /// 9110 section 5.6.1).
    ///
    /// - Parameter separator: a semicolon separates the parameters of an element.
    public func listElements(separator: UInt8 = UInt8(ascii: ",")) -> [String] {
        let bytes = utf8.span
        var elements: [String] = []
        var position = 0
        while let range = bytes.nextListElement(&position, separator: separator) {
            if range.isEmpty { continue }
            elements.append(String(decoding: utf8.dropFirst(range.lowerBound).prefix(range.count), as: UTF8.self))
        }
        return elements
    }
}

/// A set of ASCII bytes, as two words. It never contains a byte above 0x7F.
///
/// Grammars are checked byte by byte: in a `String` a combining mark would merge with the delimiter before it.
struct ByteClass {
    let low: UInt64
    let high: UInt64

    @inline(__always)
    func contains(_ byte: UInt8) -> Bool {
        let word = byte & 0x40 == 0 ? low : high
        return byte < 0x80 && (word >> UInt64(byte & 0x3F)) & 1 != 0
    }

    /// `tchar` of RFC 9110 section 5.6.2: methods, field names, codings.
    static var token: ByteClass { ByteClass(low: 0x03FF_6CFA_0000_0000, high: 0x57FF_FFFF_C7FF_FFFE) }

    /// The characters of a request target: RFC 3986 without the fragment's `#`.
    static var target: ByteClass { ByteClass(low: 0xAFFF_FFF2_0000_0000, high: 0x47FF_FFFE_AFFF_FFFF) }

    /// `reg-name` of RFC 3986 section 3.2.2, IPv4 addresses included.
    static var registeredName: ByteClass { ByteClass(low: 0x2BFF_7FF2_0000_0000, high: 0x47FF_FFFE_87FF_FFFE) }

    /// The characters between the brackets of an `IP-literal`, RFC 3986 section 3.2.2.
    static var addressLiteral: ByteClass { ByteClass(low: 0x2FFF_7FD2_0000_0000, high: 0x47FF_FFFE_87FF_FFFE) }
}

extension UInt8 {
    static var tab: UInt8 { 0x09 }
    static var lineFeed: UInt8 { 0x0A }
    static var carriageReturn: UInt8 { 0x0D }
    static var space: UInt8 { 0x20 }

    var isSpaceOrTab: Bool { self == .space || self == .tab }

    /// Whether a field value may contain it: `field-vchar`, SP and HTAB of RFC 9110 section 5.5. Bytes above 0x7F
    /// (`obs-text`) are opaque data; every other control character, including NUL, CR and LF, is refused.
    @inline(__always)
    var isFieldContent: Bool { (self >= 0x20 && self != 0x7F) || self == .tab }

    var isDigit: Bool { self &- 0x30 < 10 }
}
