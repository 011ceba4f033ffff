public import HTTPTypes

extension RequestHead {
    /// The value of a field, decoded as UTF-8; invalid bytes become U+FFFD.
    ///
    /// Several lines are joined in order with a comma and a space (RFC 9110 section 5.3), Cookie with a semicolon (RFC
    /// 6265 section 4.2.1). Host, Content-Length, Content-Type, Authorization and Origin occur at most once: the parser
    /// refuses repetitions.
    public subscript(_ name: HTTPField.Name) -> String? {
        let (count, line) = lines(of: name)
        guard let line else { return nil }
        if count == 1 { return String(decoding: slice(line.value), as: UTF8.self) }
        return values(of: name).joined(separator: name == .cookie ? "; " : ", ")
    }

    /// The value of each line of a field, in order.
    public func values(of name: HTTPField.Name) -> [String] {
        var values: [String] = []
        forEachLine(of: name) { line in
            values.append(String(decoding: slice(line.value), as: UTF8.self))
        }
        return values
    }

    /// The bytes of a field's value, without allocating a string; nil unless there is exactly one line.
    public func bytes(of name: HTTPField.Name) -> ArraySlice<UInt8>? {
        let (count, line) = lines(of: name)
        return count == 1 ? line.map { slice($0.value) } : nil
    }

    /// Whether there is at least one line of this name, even with an empty value.
    public func contains(_ name: HTTPField.Name) -> Bool {
        lines(of: name).count > 0
    }

    /// The number of a field's lines, and the last one.
    private func lines(of name: HTTPField.Name) -> (count: Int, last: FieldLine?) {
        var count = 0
        var last: FieldLine?
        forEachLine(of: name) { line in
            count += 1
            last = line
        }
        return (count, last)
    }

    private func forEachLine(of name: HTTPField.Name, _ body: (FieldLine) -> Void) {
        let bytes = storage.bytes
        let head = bytes.span.extracting(storage.start...)
        let canonicalName = name.canonicalName
        let length = canonicalName.utf8.count
        for line in storage.lines where line.name.count == length && head.extracting(line.name).isToken(canonicalName) {
            body(line)
        }
    }
}
