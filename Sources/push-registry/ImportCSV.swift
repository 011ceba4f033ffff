import PushRegistry

/// One record of RFC 4180, cut out of bytes. Lines may end without a carriage return; a field without anything is no
/// value, and `""` an empty text, as in the service's own exports. (Packages that read CSV have both as empty texts, or
/// the whole file in memory.)
struct CSVRecord {
    private(set) var fields: [String?] = []
    private(set) var byteCount = 0
    private(set) var lineCount = 0

    private let bytes: ArraySlice<UInt8>
    private var at: Int

    /// Nil where the bytes are too few.
    ///
    /// - Parameter isEnd: whether nothing follows these bytes.
    init?(_ bytes: ArraySlice<UInt8>, isEnd: Bool) throws(ImportFaults) {
        self.bytes = bytes
        at = bytes.startIndex
        while true {
            let isQuoted = at < bytes.endIndex && bytes[at] == UInt8(ascii: "\"")
            guard try isQuoted ? readQuoted(isEnd: isEnd) : readPlain(isEnd: isEnd) else { return nil }
            guard let isLast = try readSeparator(isEnd: isEnd) else { return nil }
            if isLast { break }
        }
        byteCount = at - bytes.startIndex
    }

    /// Whether there is nothing on the line.
    var isBlank: Bool { fields == [nil] }

    /// Up to a comma or the end of the line.
    private mutating func readPlain(isEnd: Bool) throws(ImportFaults) -> Bool {
        let start = at
        while at < bytes.endIndex, bytes[at] != UInt8(ascii: ","), bytes[at] != UInt8(ascii: "\n") {
            guard bytes[at] != UInt8(ascii: "\"") else {
                throw Self.malformed("A field with a quote in it stands in quotes, and its quotes are doubled.")
            }
            at += 1
        }
        guard at < bytes.endIndex || isEnd else { return false }
        let endsLine = at == bytes.endIndex || bytes[at] == UInt8(ascii: "\n")
        let hasReturn = endsLine && at > start && bytes[at - 1] == UInt8(ascii: "\r")
        let field = bytes[start..<(hasReturn ? at - 1 : at)]
        fields.append(field.isEmpty ? nil : try Self.text(field))
        return true
    }

    private mutating func readQuoted(isEnd: Bool) throws(ImportFaults) -> Bool {
        var text: [UInt8] = []
        at += 1
        while true {
            let start = at
            while at < bytes.endIndex, bytes[at] != UInt8(ascii: "\"") {
                if bytes[at] == UInt8(ascii: "\n") { lineCount += 1 }
                at += 1
            }
            text += bytes[start..<at]
            guard at < bytes.endIndex else {
                guard isEnd else { return false }
                throw Self.malformed("A quote is not closed.")
            }
            at += 1
            guard at < bytes.endIndex, bytes[at] == UInt8(ascii: "\"") else { break }
            text.append(UInt8(ascii: "\""))
            at += 1
        }
        fields.append(try Self.text(text[...]))
        return true
    }

    /// Whether the record ends here; nil where the bytes do not tell.
    private mutating func readSeparator(isEnd: Bool) throws(ImportFaults) -> Bool? {
        if at < bytes.endIndex, bytes[at] == UInt8(ascii: "\r") {
            guard at + 1 < bytes.endIndex || isEnd else { return nil }
            if at + 1 == bytes.endIndex || bytes[at + 1] == UInt8(ascii: "\n") { at += 1 }
        }
        guard at < bytes.endIndex else { return isEnd ? true : nil }
        switch bytes[at] {
        case UInt8(ascii: ","):
            at += 1
            return false
        case UInt8(ascii: "\n"):
            at += 1
            lineCount += 1
            return true
        default:
            throw Self.malformed("Behind a closing quote comes a comma or the end of the line.")
        }
    }

    private static func text(_ bytes: ArraySlice<UInt8>) throws(ImportFaults) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw ImportFaults([ImportFault(code: "not-utf-8", "The line is not UTF-8.")])
        }
        return text
    }

    private static func malformed(_ detail: String) -> ImportFaults {
        ImportFaults([ImportFault(code: "malformed-csv", detail)])
    }
}

/// The columns of a CSV file, by its header.
struct CSVColumns {
    private let fields: [ImportField?]
    let names: ImportNames

    /// - Throws: `ImportFailure` for a header without the columns that are required. It shows no name then: the file
    ///   may have no header, but a token in its first line.
    init(header: [String?], _ names: ImportNames) throws {
        var names = names
        let known = header.map { names.field($0 ?? "") }
        for required in [ImportField.installID, .token] where !known.contains(required) {
            throw ImportFailure(
                "The first line names no column \(required.name): it must be the header. "
                    + "--map theirs=\(required.name) names it.")
        }
        for (place, field) in known.enumerated() where field != nil && known[..<place].contains(field) {
            throw ImportFailure("Two columns of the header are \(field?.name ?? "").")
        }
        for (name, field) in zip(header, known) where field == nil { names.noteUnknown(name ?? "") }
        fields = known
        self.names = names
    }

    func record(_ values: [String?]) throws(ImportFaults) -> ImportRecord {
        guard values.count == fields.count else {
            throw ImportFaults([
                ImportFault(
                    code: "wrong-columns", "The header has \(fields.count) columns, this line has \(values.count).")
            ])
        }
        var record = ImportRecord()
        for (field, value) in zip(fields, values) {
            if let field { record[field] = value }
        }
        return record
    }
}
