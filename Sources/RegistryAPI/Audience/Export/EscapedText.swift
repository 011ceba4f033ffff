import ByteText

/// Escapes texts for JSON and CSV. Nearly all texts need no escaping: they are scanned eight bytes at a time and copied
/// whole.
enum EscapedText {
    /// Appends a JSON string (RFC 8259).
    ///
    /// - Parameter start: a prefix that needs no escaping.
    static func appendJSON(_ text: UnsafeRawBufferPointer, after start: [UInt8] = [], to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        bytes.append(contentsOf: start)
        if text.hasWord(where: { $0.hasByte(below: 0x20) || $0.hasByte(0x22) || $0.hasByte(0x5C) }) {
            for byte in text { appendEscaped(byte, to: &bytes) }
        } else {
            bytes.append(contentsOf: text)
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private static func appendEscaped(_ byte: UInt8, to bytes: inout [UInt8]) {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes.append(contentsOf: [UInt8(ascii: "\\"), byte])
        case ..<0x20:
            bytes.append(contentsOf: "\\u00".utf8)
            bytes.appendHex(byte)
        default: bytes.append(byte)
        }
    }

    /// Whether a spreadsheet may run a cell with this first byte as a formula: `=`, `+`, `-` and `@`, and tab and CR,
    /// which spreadsheets strip.
    static func startsFormula(_ byte: UInt8?) -> Bool {
        switch byte {
        case UInt8(ascii: "="), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "@"), 0x09, 0x0D: true
        default: false
        }
    }

    /// Appends a CSV field (RFC 4180). It is quoted if it contains a comma, a quote or a line break, or is empty.
    ///
    /// - Parameter start: a prefix that needs no quotes.
    static func appendCSV(_ text: UnsafeRawBufferPointer, after start: [UInt8] = [], to bytes: inout [UInt8]) {
        let needsQuotes = text.hasWord {
            $0.hasByte(0x2C) || $0.hasByte(0x22) || $0.hasByte(0x0D) || $0.hasByte(0x0A)
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

extension UnsafeRawBufferPointer {
    /// Whether `isFound` is true of any eight bytes. The last word overlaps the one before; a text shorter than a word
    /// is padded with letters.
    @inline(__always)
    fileprivate func hasWord(where isFound: (UInt64) -> Bool) -> Bool {
        guard count >= 8 else { return isFound(reduce(UInt64(repeating: 0x61)) { $0 << 8 | UInt64($1) }) }
        for offset in stride(from: 0, to: count - 7, by: 8)
        where isFound(loadUnaligned(fromByteOffset: offset, as: UInt64.self)) {
            return true
        }
        return isFound(loadUnaligned(fromByteOffset: count - 8, as: UInt64.self))
    }
}

/// Anderson, Bit Twiddling Hacks, "Determine if a word has a byte less than n" and "equal to n".
extension UInt64 {
    @inline(__always)
    fileprivate init(repeating byte: UInt8) {
        self = 0x0101_0101_0101_0101 &* UInt64(byte)
    }

    /// - Parameter limit: at most 128.
    @inline(__always)
    fileprivate func hasByte(below limit: UInt8) -> Bool {
        (self &- UInt64(repeating: limit)) & ~self & UInt64(repeating: 0x80) != 0
    }

    @inline(__always)
    fileprivate func hasByte(_ byte: UInt8) -> Bool {
        (self ^ UInt64(repeating: byte)).hasByte(below: 1)
    }
}
