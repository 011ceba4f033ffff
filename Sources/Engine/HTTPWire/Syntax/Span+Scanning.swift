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
