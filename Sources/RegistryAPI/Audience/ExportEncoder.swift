import Foundation
import PushRegistry

/// Writes rows of an export, byte for byte as the database gave them, but for what JSON or CSV escape.
struct ExportEncoder: Sendable {
    private enum Content: Sendable {
        case cell(ExportColumn.Kind)
        /// Of two cells.
        case keys
        case id
        case cursor
    }

    /// A field of a row. It owns nothing, as it is looked at for every row.
    private struct Part: Sendable {
        /// What stands before the field, among `prefixes`.
        let prefix: Range<Int>
        let content: Content
        let cell: Int
    }

    let columns: [ExportColumn]
    private let fields: [ExportField]
    private let format: ExportFormat
    private let isSpreadsheetSafe: Bool
    private let names: InstallationNames
    private let ids: OpaqueNames?
    private let cursorStart: [UInt8]
    private let parts: [Part]
    private let prefixes: [UInt8]
    private let end: [UInt8]

    /// - Parameters:
    ///   - fields: in CSV the cursor is moved to the end.
    ///   - ids: what makes the field `id`; needed where it is among the fields.
    ///   - isSpreadsheetSafe: whether texts in CSV that a spreadsheet would run as formulas get an apostrophe before
    ///     them.
    init(
        _ fields: [ExportField], _ format: ExportFormat, _ names: InstallationNames, ids: OpaqueNames? = nil,
        isSpreadsheetSafe: Bool = false
    ) {
        self.format = format
        self.isSpreadsheetSafe = isSpreadsheetSafe && format == .csv
        self.names = names
        self.ids = ids
        cursorStart = names.cursorStart
        self.fields = format == .csv ? fields.filter { $0 != .cursor } + fields.filter { $0 == .cursor } : fields
        columns = Self.columns(of: self.fields)
        var prefixes: [UInt8] = []
        var parts: [Part] = []
        for field in self.fields {
            let start = prefixes.count
            prefixes += Self.prefix(field, format, isFirst: parts.isEmpty)
            parts.append(Self.part(field, prefix: start..<prefixes.count, columns))
        }
        (self.prefixes, self.parts) = (prefixes, parts)
        end = Array((format == .csv ? "\r\n" : "}\n").utf8)
    }

    /// What the fields are made of, each once.
    private static func columns(of fields: [ExportField]) -> [ExportColumn] {
        fields.flatMap(\.columns).reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }

    private static func prefix(_ field: ExportField, _ format: ExportFormat, isFirst: Bool) -> [UInt8] {
        switch format {
        case .ndjson: Array("\(isFirst ? "{" : ",")\"\(field.name)\":".utf8)
        case .csv: isFirst ? [] : [UInt8(ascii: ",")]
        }
    }

    private static func part(_ field: ExportField, prefix: Range<Int>, _ columns: [ExportColumn]) -> Part {
        let content: Content =
            switch field {
            case .column(let column): .cell(column.kind)
            case .keys: .keys
            case .id: .id
            case .cursor: .cursor
            }
        return Part(prefix: prefix, content: content, cell: columns.firstIndex(of: field.columns[0]) ?? 0)
    }

    /// The line of names that CSV begins with.
    var header: [UInt8] {
        format == .csv ? Array((fields.map(\.name).joined(separator: ",") + "\r\n").utf8) : []
    }

    /// The rows as text, a line each.
    ///
    /// - Throws: `StoreError.failed` if an id or a cursor cannot be made.
    func encode(_ rows: ExportRows) throws(StoreError) -> [UInt8] {
        var (bytes, isWhole) = ([UInt8](), true)
        bytes.reserveCapacity(rows.bytes.count + rows.count * (prefixes.count + Self.spareBytesPerRow))
        prefixes.withUnsafeBytes { prefixes in
            rows.withEachRow { content, cells in
                for part in parts {
                    bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: prefixes[part.prefix]))
                    append(part, content, cells, to: &bytes, &isWhole)
                }
                bytes.append(contentsOf: end)
            }
        }
        guard isWhole else { throw .failed("an export's ids and cursors cannot be made") }
        return bytes
    }

    /// For quotes and a cursor, so that the buffer is hardly ever too small.
    private static let spareBytesPerRow = 64

    private func append(
        _ part: Part, _ content: RawSpan, _ cells: [ExportRows.Cell], to bytes: inout [UInt8], _ isWhole: inout Bool
    ) {
        let cell = cells[part.cell]
        guard cell.count >= 0 else { return appendNothing(to: &bytes) }
        switch part.content {
        case .cell(.text): cell.withBytes(of: content) { append($0, to: &bytes) }
        case .cell(let kind): cell.withBytes(of: content) { append($0, kind, to: &bytes) }
        case .keys: appendKeys(cell, cells[part.cell + 1], content, to: &bytes)
        case .id: cell.withBytes(of: content) { id in appendID(id, to: &bytes, &isWhole) }
        case .cursor: cell.withBytes(of: content) { id in appendCursor(id, to: &bytes, &isWhole) }
        }
    }

    /// Nothing in CSV, where an empty text is `""`.
    private func appendNothing(to bytes: inout [UInt8]) {
        if format == .ndjson { bytes.append(contentsOf: "null".utf8) }
    }
}

// MARK: - Values

extension ExportEncoder {
    private func append(_ text: UnsafeRawBufferPointer, after start: [UInt8] = [], to bytes: inout [UInt8]) {
        switch format {
        case .ndjson: EscapedText.appendJSON(text, after: start, to: &bytes)
        case .csv where isSpreadsheetSafe && EscapedText.startsFormula(start.first ?? text.first):
            EscapedText.appendCSV(text, after: [UInt8(ascii: "'")] + start, to: &bytes)
        case .csv: EscapedText.appendCSV(text, after: start, to: &bytes)
        }
    }

    private func append(_ cell: UnsafeRawBufferPointer, _ kind: ExportColumn.Kind, to bytes: inout [UInt8]) {
        switch kind {
        case .text: append(cell, to: &bytes)
        case .integer: appendDigits(of: Self.integer(cell), to: &bytes)
        case .flag: bytes.append(contentsOf: (cell.first == 0 ? "false" : "true").utf8)
        case .time:
            let time = Timestamp(microseconds: Self.integer(cell) + Self.epochMicroseconds)
            var text = time.description
            text.withUTF8 { append(UnsafeRawBufferPointer($0), to: &bytes) }
        case .location: appendLocation(cell, to: &bytes)
        case .json where format == .ndjson: bytes.append(contentsOf: cell)
        case .json: append(cell, to: &bytes)
        }
    }

    /// From 1970-01-01 to 2000-01-01.
    private static let epochMicroseconds: Int64 = 946_684_800_000_000

    private static func integer(_ cell: UnsafeRawBufferPointer) -> Int64 {
        cell.count == 4
            ? Int64(Int32(bigEndian: cell.loadUnaligned(as: Int32.self)))
            : Int64(bigEndian: cell.loadUnaligned(as: Int64.self))
    }

    private func appendDigits(of number: Int64, to bytes: inout [UInt8]) {
        var rest = number.magnitude
        var digits = InlineArray<20, UInt8>(repeating: 0)
        var start = digits.count
        repeat {
            start -= 1
            digits[start] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        } while rest > 0
        if number < 0 { bytes.append(UInt8(ascii: "-")) }
        for place in start..<digits.count { bytes.append(digits[place]) }
    }

    private func appendLocation(_ cell: UnsafeRawBufferPointer, to bytes: inout [UInt8]) {
        guard format == .ndjson else { return bytes.append(contentsOf: cell) }
        let space = cell.firstIndex(of: UInt8(ascii: " ")) ?? cell.endIndex
        bytes.append(contentsOf: "{\"latitude\":".utf8)
        bytes.append(contentsOf: cell[..<space])
        bytes.append(contentsOf: ",\"longitude\":".utf8)
        bytes.append(contentsOf: cell[space...].dropFirst())
        bytes.append(UInt8(ascii: "}"))
    }

    private func appendKeys(
        _ p256dh: ExportRows.Cell, _ auth: ExportRows.Cell, _ content: RawSpan, to bytes: inout [UInt8]
    ) {
        bytes.append(contentsOf: "{\"p256dh\":".utf8)
        p256dh.withBytes(of: content) { append($0, to: &bytes) }
        bytes.append(contentsOf: ",\"auth\":".utf8)
        if auth.count >= 0 { auth.withBytes(of: content) { append($0, to: &bytes) } } else { appendNothing(to: &bytes) }
        bytes.append(UInt8(ascii: "}"))
    }

    private func appendID(_ installID: UnsafeRawBufferPointer, to bytes: inout [UInt8], _ isWhole: inout Bool) {
        guard let ids else {
            isWhole = false
            return
        }
        ids.id(Array(installID)).withUnsafeBytes { append($0, to: &bytes) }
    }

    private func appendCursor(_ installID: UnsafeRawBufferPointer, to bytes: inout [UInt8], _ isWhole: inout Bool) {
        switch names {
        case .open: append(installID, after: cursorStart, to: &bytes)
        case .opaque(let names):
            guard let cursor = try? names.cursor(Array(installID)) else {
                isWhole = false
                return
            }
            cursor.withUnsafeBytes { append($0, to: &bytes) }
        }
    }
}
