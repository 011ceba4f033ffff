import PushRegistry

/// One CSV record (RFC 4180). Lines may end without a carriage return. An empty field is a missing value and `""` an
/// empty text, as in exports. (CSV packages do not distinguish these, or read the whole file into memory.)
struct CSVRecord {
    private(set) var fields: [String?] = []
    private(set) var byteCount = 0
    private(set) var lineCount = 0

    private let bytes: ArraySlice<UInt8>
    private var at: Int

    /// Parses the first record of the bytes. Nil if the record is incomplete.
    ///
    /// - Parameter isEnd: whether these bytes are the end of the file.
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

    /// The fields of the first record, for `RecordCutter.next`.
    static func cut(_ bytes: ArraySlice<UInt8>, isEnd: Bool) throws(ImportFaults) -> RecordCutter.Cut<[String?]>? {
        guard let row = try CSVRecord(bytes, isEnd: isEnd) else { return nil }
        return RecordCutter.Cut(
            content: row.isBlank ? nil : row.fields, byteCount: row.byteCount, lineCount: row.lineCount)
    }

    /// Whether the line is empty.
    var isBlank: Bool { fields == [nil] }

    /// Reads up to a comma or the end of the line.
    ///
    /// - Returns: false if the field is incomplete.
    private mutating func readPlain(isEnd: Bool) throws(ImportFaults) -> Bool {
        let start = at
        while at < bytes.endIndex, bytes[at] != UInt8(ascii: ","), bytes[at] != UInt8(ascii: "\n") {
            guard bytes[at] != UInt8(ascii: "\"") else {
                throw Self.malformed("A field that contains a quote must be quoted, with its quotes doubled.")
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
                throw ImportFaults([.openQuote])
            }
            at += 1
            guard at < bytes.endIndex, bytes[at] == UInt8(ascii: "\"") else { break }
            text.append(UInt8(ascii: "\""))
            at += 1
        }
        fields.append(try Self.text(text[...]))
        return true
    }

    /// Whether the record ends here; nil if more bytes are needed to decide.
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
            throw Self.malformed("A comma or the end of the line must follow a closing quote.")
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

extension Result<[String?], ImportFaults> {
    /// Whether the record of a last line without a line end may be the beginning of a longer one.
    func isUnfinished(_ columns: Int) -> Bool {
        switch self {
        case .success(let fields): fields.count < columns
        case .failure(let faults): faults.faults == [.openQuote]
        }
    }
}

extension [String?] {
    /// Refuses a header that is a whole file, because its lines end with a carriage return alone, and one of another
    /// separator.
    func checkHeader() throws {
        // The two characters of a line end are one `Character`.
        if contains(where: { $0?.contains("\r") == true }) {
            throw ImportFailure(
                "The lines of a CSV file must not end with a carriage return alone: save it with line feeds.")
        }
        if count == 1, first??.contains(where: { $0 == ";" || $0 == "\t" }) == true {
            throw ImportFailure("The columns of a CSV file must be separated by commas: save it with commas.")
        }
    }
}

extension ImportFault {
    fileprivate static let openQuote = ImportFault(code: "malformed-csv", "A quote is not closed.")

    static func wrongColumns(_ count: Int, header: Int) -> ImportFault {
        ImportFault(code: "wrong-columns", "The header has \(header) columns, this line has \(count).")
    }
}

/// The columns of another system's table. Names are compared in any case. A name may occur several times: then the
/// column has several values.
struct CSVHeader {
    let names: [String]
    private var places: [String: [Int]] = [:]

    init(_ names: [String?]) {
        self.names = names.map { $0 ?? "" }
        for (place, name) in names.enumerated() {
            let name = (name ?? "").trimmingSpaces().lowercased()
            if !name.isEmpty { places[name, default: []].append(place) }
        }
    }

    var count: Int { names.count }

    func places(_ path: FieldPath) -> [Int] { places[path.column] ?? [] }
}

/// A row of such a table.
struct CSVRow {
    let header: CSVHeader
    let values: [String?]

    func has(_ path: FieldPath) -> Bool { !header.places(path).isEmpty }

    func text(_ path: FieldPath) -> String? {
        for place in header.places(path) {
            if let value = values[place], !value.isEmpty { return value }
        }
        return nil
    }

    func texts(_ path: FieldPath) -> [String] {
        header.places(path).compactMap { values[$0] }.filter { !$0.isEmpty }
    }
}

/// The fields of the columns of a CSV file, from its header.
struct CSVColumns {
    private let fields: [ImportField?]
    let names: ImportNames

    /// - Throws: `ImportFailure` for a header without the required columns. The error quotes no names: a file without a
    ///   header may have a token in its first line.
    init(header: [String?], _ names: ImportNames) throws {
        try header.checkHeader()
        var names = names
        let known = header.map { names.field($0 ?? "") }
        for required in [ImportField.installID, .token] where !known.contains(required) {
            throw ImportFailure(
                "The first line must be the header; it has no column \(required.name). "
                    + "If the column has another name, use --map theirs=\(required.name).")
        }
        for (index, field) in known.enumerated() where field != nil && known[..<index].contains(field) {
            throw ImportFailure("The header has two columns for \(field?.name ?? "").")
        }
        for (name, field) in zip(header, known) where field == nil { names.noteUnknown(name ?? "") }
        fields = known
        self.names = names
    }

    func record(_ values: [String?]) throws(ImportFaults) -> ImportRecord {
        guard values.count == fields.count else {
            throw ImportFaults([.wrongColumns(values.count, header: fields.count)])
        }
        var record = ImportRecord()
        for (field, value) in zip(fields, values) {
            if let field { record[field] = value }
        }
        return record
    }
}
