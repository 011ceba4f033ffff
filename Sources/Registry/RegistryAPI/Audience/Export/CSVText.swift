import Basics

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
