import Foundation
import PushRegistry

/// Writes rows of an export, byte for byte as the database gave them, but for what JSON or CSV escape.
struct ExportEncoder: Sendable {
    private enum Part: Sendable {
        case cell(Int, ExportColumn.Kind)
        /// The number of the first of two cells.
        case keys(Int)
        case id
        case cursor
    }

    let columns: [ExportColumn]
    private let parts: [(prefix: [UInt8], part: Part)]
    private let format: ExportFormat
    private let names: InstallationNames
    private let fields: [ExportField]

    /// - Parameter fields: in CSV the cursor is moved to the end.
    init(_ fields: [ExportField], _ format: ExportFormat, _ names: InstallationNames) {
        self.format = format
        self.names = names
        self.fields = format == .csv ? fields.filter { $0 != .cursor } + fields.filter { $0 == .cursor } : fields
        var columns: [ExportColumn] = []
        var parts: [(prefix: [UInt8], part: Part)] = []
        for field in self.fields {
            parts.append((Self.prefix(field, format, isFirst: parts.isEmpty), Self.part(field, at: columns.count)))
            columns += field.columns
        }
        self.columns = columns
        self.parts = parts
    }

    private static func prefix(_ field: ExportField, _ format: ExportFormat, isFirst: Bool) -> [UInt8] {
        switch format {
        case .ndjson: Array("\(isFirst ? "{" : ",")\"\(field.name)\":".utf8)
        case .csv: isFirst ? [] : [UInt8(ascii: ",")]
        }
    }

    private static func part(_ field: ExportField, at column: Int) -> Part {
        switch field {
        case .column(let kind): .cell(column, kind.kind)
        case .keys: .keys(column)
        case .id: .id
        case .cursor: .cursor
        }
    }

    /// The line of names that CSV begins with.
    var header: [UInt8] {
        format == .csv ? Array((fields.map(\.name).joined(separator: ",") + "\r\n").utf8) : []
    }

    /// Appends the rows `range`, a line each.
    func append(_ rows: any ExportRows, _ range: Range<Int>, to bytes: inout [UInt8]) {
        for row in range {
            for (prefix, part) in parts {
                bytes.append(contentsOf: prefix)
                append(part, rows, row, &bytes)
            }
            switch format {
            case .ndjson: bytes.append(contentsOf: [UInt8(ascii: "}"), UInt8(ascii: "\n")])
            case .csv: bytes.append(contentsOf: [UInt8(ascii: "\r"), UInt8(ascii: "\n")])
            }
        }
    }

    private func append(_ part: Part, _ rows: any ExportRows, _ row: Int, _ bytes: inout [UInt8]) {
        switch part {
        case .cell(let column, let kind):
            let isThere: Void? = rows.withCell(row, column) { cell in
                cell.withUnsafeBytes { append($0, kind, &bytes) }
            }
            if isThere == nil { appendNothing(&bytes) }
        case .keys(let column): appendKeys(rows, row, column, &bytes)
        case .id:
            rows.withInstallID(row) { id in
                guard case .opaque(let names) = names else { return }
                id.withUnsafeBytes { append(names.id(Array($0)), &bytes) }
            }
        case .cursor:
            rows.withInstallID(row) { id in
                id.withUnsafeBytes { append(names.cursor(Array($0)), &bytes) }
            }
        }
    }

    private func append(_ made: [UInt8], _ bytes: inout [UInt8]) {
        made.withUnsafeBytes { append($0, .text, &bytes) }
    }

    private func append(_ cell: UnsafeRawBufferPointer, _ kind: ExportColumn.Kind, _ bytes: inout [UInt8]) {
        switch (format, kind) {
        case (.ndjson, .text): EscapedText.appendJSON(cell, to: &bytes)
        case (.csv, .text): EscapedText.appendCSV(cell, to: &bytes)
        case (.ndjson, .location): appendLocation(cell, &bytes)
        case (_, .integer), (_, .flag), (.csv, .location): bytes.append(contentsOf: cell)
        }
    }

    /// Nothing in CSV, where an empty text is `""`.
    private func appendNothing(_ bytes: inout [UInt8]) {
        if format == .ndjson { bytes.append(contentsOf: "null".utf8) }
    }

    private func appendLocation(_ cell: UnsafeRawBufferPointer, _ bytes: inout [UInt8]) {
        let space = cell.firstIndex(of: UInt8(ascii: " ")) ?? cell.endIndex
        bytes.append(contentsOf: "{\"latitude\":".utf8)
        bytes.append(contentsOf: cell[..<space])
        bytes.append(contentsOf: ",\"longitude\":".utf8)
        bytes.append(contentsOf: cell[space...].dropFirst())
        bytes.append(UInt8(ascii: "}"))
    }

    private func appendKeys(_ rows: any ExportRows, _ row: Int, _ column: Int, _ bytes: inout [UInt8]) {
        let start = bytes.count
        bytes.append(contentsOf: "{\"p256dh\":".utf8)
        let isThere: Void? = rows.withCell(row, column) { $0.withUnsafeBytes { append($0, .text, &bytes) } }
        guard isThere != nil else {
            bytes.removeSubrange(start...)
            return appendNothing(&bytes)
        }
        bytes.append(contentsOf: ",\"auth\":".utf8)
        _ = rows.withCell(row, column + 1) { $0.withUnsafeBytes { append($0, .text, &bytes) } }
        bytes.append(UInt8(ascii: "}"))
    }
}

/// Texts with what their surroundings would take for their own escaped. Nearly all texts have nothing to escape, and are copied whole.
enum EscapedText {
    /// A string of RFC 8259.
    static func appendJSON(_ text: UnsafeRawBufferPointer, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        var run = 0
        for (at, byte) in text.enumerated()
        where byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
            bytes.append(contentsOf: text[run..<at])
            appendEscape(byte, to: &bytes)
            run = at + 1
        }
        bytes.append(contentsOf: text[run...])
        bytes.append(UInt8(ascii: "\""))
    }

    private static func appendEscape(_ byte: UInt8, to bytes: inout [UInt8]) {
        guard byte < 0x20 else { return bytes.append(contentsOf: [UInt8(ascii: "\\"), byte]) }
        let digits = Array("0123456789abcdef".utf8)
        bytes.append(contentsOf: "\\u00".utf8)
        bytes.append(digits[Int(byte >> 4)])
        bytes.append(digits[Int(byte & 15)])
    }

    /// A field of RFC 4180: in quotes where it holds a comma, a quote or a line break, and where it is empty.
    static func appendCSV(_ text: UnsafeRawBufferPointer, to bytes: inout [UInt8]) {
        guard text.isEmpty || text.contains(where: { $0 == 0x2C || $0 == 0x22 || $0 == 0x0D || $0 == 0x0A }) else {
            return bytes.append(contentsOf: text)
        }
        bytes.append(UInt8(ascii: "\""))
        for byte in text {
            if byte == UInt8(ascii: "\"") { bytes.append(byte) }
            bytes.append(byte)
        }
        bytes.append(UInt8(ascii: "\""))
    }
}
