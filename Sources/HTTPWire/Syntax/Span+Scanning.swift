extension Span<UInt8> {
    /// The first index in `start..<end` whose byte is not in `byteClass`, or `end`.
    @inline(__always)
    func end(of byteClass: ByteClass, from start: Int, to end: Int) -> Int {
        var index = start
        while index < end, byteClass.contains(self[index]) { index += 1 }
        return index
    }

    /// The first index in `start..<end` whose byte cannot stand in a field value, or `end`.
    @inline(__always)
    func endOfFieldContent(from start: Int, to end: Int) -> Int {
        var index = start
        while index < end, self[index].isFieldContent { index += 1 }
        return index
    }

    /// The first index in `start..<end` that is neither SP nor HTAB, or `end`.
    @inline(__always)
    func endOfSpace(from start: Int, to end: Int) -> Int {
        var index = start
        while index < end, self[index].isSpaceOrTab { index += 1 }
        return index
    }

    /// `range` without the optional white space (RFC 9110 section 5.6.3) around its content.
    func trimmingSpace(_ range: Range<Int>) -> Range<Int> {
        let start = endOfSpace(from: range.lowerBound, to: range.upperBound)
        var end = range.upperBound
        while end > start, self[end - 1].isSpaceOrTab { end -= 1 }
        return start..<end
    }

    /// Whether the bytes, a token, are `lowercase` in any case.
    ///
    /// - Parameter lowercase: lower-case letters, digits and hyphens. Setting bit 5 of a `tchar` makes no other byte
    ///   of `tchar` equal to one of these.
    func isToken(_ lowercase: String) -> Bool {
        let expected = lowercase.utf8.span
        guard count == expected.count else { return false }
        for index in 0..<count where self[index] | 0x20 != expected[index] {
            return false
        }
        return true
    }

    /// The next element of a comma-separated list (RFC 9110 section 5.6.1), trimmed, possibly empty; nil at the end.
    ///
    /// - Parameter position: where to begin; moved beyond the element and its comma.
    func nextListElement(_ position: inout Int) -> Range<Int>? {
        guard position <= count else { return nil }
        var end = position
        while end < count, self[end] != UInt8(ascii: ",") { end += 1 }
        defer { position = end + 1 }
        return trimmingSpace(position..<end)
    }
}
