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
