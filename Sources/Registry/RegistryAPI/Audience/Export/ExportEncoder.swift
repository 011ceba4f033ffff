import Basics
import Foundation
import PushRegistry
import Receipts
import StrictJSON

/// Writes the rows of an export. It copies the bytes from the database and only escapes them for JSON or CSV.
struct ExportEncoder: Sendable {
    private enum Content: Sendable {
        case cell(ExportColumn.Kind)
        /// Two cells: `p256dh` and `auth`.
        case keys
        case cursor
        case receipt
    }

    /// A field of a row. It holds no references, since every row copies it.
    private struct Part: Sendable {
        /// The range of `prefixes` to write before the field.
        let prefix: Range<Int>
        let content: Content
        let cell: Int
    }

    let columns: [ExportColumn]
    private let fields: [ExportField]
    private let format: ExportFormat
    private let isSpreadsheetSafe: Bool
    private let spreadsheet: SpreadsheetSeparator?
    private let names: InstallationNames
    let message: HandedOutMessage?
    /// The cells of a row from which its receipt is sealed.
    private let receiptCells: (installation: Int, cell: Int, user: Int?)
    private let cursorStart: [UInt8]
    private let parts: [Part]
    private let prefixes: [UInt8]
    private let end: [UInt8]

    /// - Parameters:
    ///   - fields: in CSV, the cursor moves to the end.
    ///   - message: the message whose receipts stand before the cursor, if there is one.
    ///   - isSpreadsheetSafe: whether texts in CSV that a spreadsheet would run as formulas get an apostrophe.
    ///   - spreadsheet: what a spreadsheet expects between cells. CSV then begins with a byte order mark.
    init(
        _ fields: [ExportField], _ format: ExportFormat, _ names: InstallationNames,
        message: HandedOutMessage? = nil, isSpreadsheetSafe: Bool = false, spreadsheet: SpreadsheetSeparator? = nil
    ) {
        self.format = format
        self.isSpreadsheetSafe = isSpreadsheetSafe && format == .csv
        (self.spreadsheet, self.names) = (spreadsheet, names)
        cursorStart = names.cursorStart
        self.message = message
        self.fields = Self.ordered(fields, format, receipt: message?.message.content.isRecorded)
        columns = Self.columns(of: self.fields, cursor: names.cursorColumn)
        receiptCells = (
            columns.firstIndex(of: .installID) ?? 0, columns.firstIndex(of: .cell) ?? 0,
            columns.firstIndex(of: .userID)
        )
        var prefixes: [UInt8] = []
        var parts: [Part] = []
        for field in self.fields {
            let start = prefixes.count
            prefixes += Self.prefix(field, format, spreadsheet, isFirst: parts.isEmpty)
            let cell = columns.firstIndex(of: field.columns(cursor: names.cursorColumn)[0]) ?? 0
            parts.append(Part(prefix: start..<prefixes.count, content: Self.content(of: field), cell: cell))
        }
        (self.prefixes, self.parts) = (prefixes, parts)
        end = Array((format == .csv ? "\r\n" : "}\n").utf8)
    }

    /// - Parameter isRecorded: of the message; nil without one.
    private static func ordered(
        _ fields: [ExportField], _ format: ExportFormat, receipt isRecorded: Bool?
    ) -> [ExportField] {
        var fields = format == .csv ? fields.filter { $0 != .cursor } + fields.filter { $0 == .cursor } : fields
        if let isRecorded {
            fields.insert(.receipt(isRecorded: isRecorded), at: fields.firstIndex(of: .cursor) ?? fields.endIndex)
        }
        return fields
    }

    /// The columns of the fields, without duplicates.
    private static func columns(of fields: [ExportField], cursor: ExportColumn) -> [ExportColumn] {
        fields.flatMap { $0.columns(cursor: cursor) }.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }

    private static func prefix(
        _ field: ExportField, _ format: ExportFormat, _ spreadsheet: SpreadsheetSeparator?, isFirst: Bool
    ) -> [UInt8] {
        switch format {
        case .ndjson: Array("\(isFirst ? "{" : ",")\"\(field.name)\":".utf8)
        case .csv: isFirst ? [] : Array((spreadsheet?.rawValue ?? ",").utf8)
        }
    }

    private static func content(of field: ExportField) -> Content {
        switch field {
        case .column(let column): .cell(column.kind)
        case .keys: .keys
        case .id: .cell(.opaqueID)
        case .cursor: .cursor
        case .receipt: .receipt
        }
    }

    /// The header line of CSV; empty for NDJSON.
    var header: [UInt8] {
        guard format == .csv else { return [] }
        let names = fields.map(\.name).joined(separator: spreadsheet?.rawValue ?? ",")
        return Array(((spreadsheet == nil ? "" : "\u{FEFF}") + names + "\r\n").utf8)
    }

    /// The rows as text, one line each.
    ///
    /// - Throws: `StoreError.failed`, with a message only.
    func encode(_ rows: ExportRows) throws(StoreError) -> [UInt8] {
        var batch = HandedOutMessage.Batch()
        return try encode(rows, &batch)
    }

    /// The rows as text, one line each. Those with a receipt are added to the batch.
    ///
    /// - Throws: `StoreError.failed` if a receipt cannot be created.
    func encode(_ rows: ExportRows, _ batch: inout HandedOutMessage.Batch) throws(StoreError) -> [UInt8] {
        let encoder: ReceiptEncoder? = if let message { try ReceiptEncoder(message.sealer) } else { nil }
        var (bytes, isComplete) = ([UInt8](), true)
        bytes.reserveCapacity(rows.bytes.count + rows.count * (prefixes.count + Self.spareBytesPerRow))
        prefixes.withUnsafeBytes { prefixes in
            rows.withEachRow { content, cells in
                for part in parts {
                    bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: prefixes[part.prefix]))
                    if case .receipt = part.content {
                        appendReceipt(encoder, content, cells, to: &bytes, &batch, &isComplete)
                    } else {
                        append(part, content, cells, to: &bytes)
                    }
                }
                bytes.append(contentsOf: end)
            }
        }
        guard isComplete else { throw .failed("the receipts of an export cannot be created") }
        return bytes
    }

    /// Space for quotes and a cursor, so that the buffer rarely grows.
    private static let spareBytesPerRow = 160

    private func append(
        _ part: Part, _ content: RawSpan, _ cells: [ExportRows.Cell], to bytes: inout [UInt8]
    ) {
        let cell = cells[part.cell]
        guard cell.count >= 0 else { return appendMissing(to: &bytes) }
        switch part.content {
        case .cell(.text): cell.withBytes(of: content) { append($0, to: &bytes) }
        case .cell(let kind): cell.withBytes(of: content) { append($0, kind, to: &bytes) }
        case .keys: appendKeys(cell, cells[part.cell + 1], content, to: &bytes)
        case .cursor: cell.withBytes(of: content) { appendCursor($0, to: &bytes) }
        case .receipt: break
        }
    }

    /// `null` in JSON, an empty field in CSV, where an empty text is `""`.
    private func appendMissing(to bytes: inout [UInt8]) {
        if format == .ndjson { bytes.append(contentsOf: "null".utf8) }
    }
}

// MARK: - Values

extension ExportEncoder {
    private func append(_ text: UnsafeRawBufferPointer, after start: [UInt8] = [], to bytes: inout [UInt8]) {
        switch format {
        case .ndjson: bytes.appendJSONString(text, after: start)
        case .csv where isSpreadsheetSafe:
            let start = CSVText.startsFormula(start.first) ? [UInt8(ascii: "'")] + start : start
            guard let safe = CSVText.withoutFormulas(text, isStart: start.isEmpty) else {
                return CSVText.append(text, after: start, to: &bytes)
            }
            safe.withUnsafeBytes { CSVText.append($0, after: start, to: &bytes) }
        case .csv: CSVText.append(text, after: start, to: &bytes)
        }
    }

    private func append(_ cell: UnsafeRawBufferPointer, _ kind: ExportColumn.Kind, to bytes: inout [UInt8]) {
        switch kind {
        case .text: append(cell, to: &bytes)
        case .integer: bytes.appendDecimal(Self.integer(cell))
        case .flag: bytes.append(contentsOf: (cell.first == 0 ? "false" : "true").utf8)
        case .time:
            let time = Timestamp(microseconds: Self.integer(cell) + Self.epochMicroseconds)
            var text = time.description
            text.withUTF8 { append(UnsafeRawBufferPointer($0), to: &bytes) }
        case .location: appendLocation(cell, to: &bytes)
        case .json where format == .ndjson: bytes.append(contentsOf: cell)
        case .json: append(cell, to: &bytes)
        case .opaqueID:
            var digits: [UInt8] = []
            for byte in cell { digits.appendHex(byte) }
            digits.withUnsafeBytes { append($0, to: &bytes) }
        }
    }

    /// The time from 1970-01-01 to 2000-01-01.
    private static let epochMicroseconds: Int64 = 946_684_800_000_000

    private static func integer(_ cell: UnsafeRawBufferPointer) -> Int64 {
        cell.count == 4
            ? Int64(Int32(bigEndian: cell.loadUnaligned(as: Int32.self)))
            : Int64(bigEndian: cell.loadUnaligned(as: Int64.self))
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
        if auth.count >= 0 { auth.withBytes(of: content) { append($0, to: &bytes) } } else { appendMissing(to: &bytes) }
        bytes.append(UInt8(ascii: "}"))
    }

    private func appendCursor(_ id: UnsafeRawBufferPointer, to bytes: inout [UInt8]) {
        switch names {
        case .open: append(id, after: cursorStart, to: &bytes)
        case .opaque(let cursors, _): cursors.cursor(id).withUnsafeBytes { append($0, to: &bytes) }
        }
    }

    /// A receipt has no character to escape.
    private func appendReceipt(
        _ encoder: ReceiptEncoder?, _ content: RawSpan, _ cells: [ExportRows.Cell], to bytes: inout [UInt8],
        _ batch: inout HandedOutMessage.Batch, _ isComplete: inout Bool
    ) {
        var number: Int64 = 0
        cells[receiptCells.cell].withBytes(of: content) { number = Self.integer($0) }
        let userID = Self.text(receiptCells.user.map { cells[$0] }, content)
        cells[receiptCells.installation].withBytes(of: content) { installID in
            if format == .ndjson { bytes.append(UInt8(ascii: "\"")) }
            do throws(StoreError) {
                guard let encoder, let message else { throw .failed("an export without a message has no receipts") }
                try message.appendReceipt(of: installID, in: number, user: userID, by: encoder, &batch, to: &bytes)
            } catch {
                isComplete = false
            }
            if format == .ndjson { bytes.append(UInt8(ascii: "\"")) }
        }
    }

    private static func text(_ cell: ExportRows.Cell?, _ content: RawSpan) -> String? {
        guard let cell, cell.count >= 0 else { return nil }
        var text = ""
        cell.withBytes(of: content) { text = String(decoding: $0, as: UTF8.self) }
        return text
    }
}

/// Escapes texts for CSV (RFC 4180). Nearly all texts need no quotes: they are scanned eight bytes at a time and copied
/// whole.
enum CSVText {
    /// Whether a spreadsheet may run a cell with this first byte as a formula: `=`, `+`, `-` and `@`, and tab and CR,
    /// which spreadsheets strip.
    static func startsFormula(_ byte: UInt8?) -> Bool {
        switch byte {
        case UInt8(ascii: "="), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "@"), 0x09, 0x0D: true
        default: false
        }
    }

    /// The text with an apostrophe before each part that a spreadsheet may run as a formula. Some of them separate
    /// cells at semicolons or tabs, where the list separator of the system's language is one of these, or at the end of
    /// a line inside of quotes.
    ///
    /// - Parameter isStart: whether the text is the start of a cell.
    /// - Returns: nil if the text has no such part.
    static func withoutFormulas(_ text: UnsafeRawBufferPointer, isStart: Bool) -> [UInt8]? {
        let separates = text.hasWord {
            $0.hasByte(0x3B) || $0.hasByte(0x09) || $0.hasByte(0x0A) || $0.hasByte(0x0D)
        }
        guard separates || isStart && startsFormula(text.first) else { return nil }
        var result: [UInt8] = []
        var isStart = isStart
        for byte in text {
            if isStart, startsFormula(byte) { result.append(UInt8(ascii: "'")) }
            switch byte {
            case UInt8(ascii: ";"), 0x09, 0x0A, 0x0D: isStart = true
            case UInt8(ascii: "\""), UInt8(ascii: " "): break
            default: isStart = false
            }
            result.append(byte)
        }
        return result
    }

    /// Appends a field. It is quoted if it contains a comma, a semicolon, a quote or a line break, or is
    /// empty.
    ///
    /// - Parameter start: a prefix that needs no quotes.
    static func append(_ text: UnsafeRawBufferPointer, after start: [UInt8] = [], to bytes: inout [UInt8]) {
        let needsQuotes = text.hasWord {
            $0.hasByte(0x2C) || $0.hasByte(0x3B) || $0.hasByte(0x22) || $0.hasByte(0x0D) || $0.hasByte(0x0A)
        }
        guard needsQuotes || text.isEmpty else {
            bytes.append(contentsOf: start)
            return bytes.append(contentsOf: text)
        }
        bytes.append(UInt8(ascii: "\""))
        bytes.append(contentsOf: start)
        for byte in text {
            if byte == UInt8(ascii: "\"") { bytes.append(byte) }
            bytes.append(byte)
        }
        bytes.append(UInt8(ascii: "\""))
    }
}
