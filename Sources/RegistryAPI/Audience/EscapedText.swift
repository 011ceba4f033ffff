/// Texts with what their surroundings would take for their own escaped. Nearly all texts have nothing to escape: they
/// are looked through eight bytes at a time and copied whole.
enum EscapedText {
    /// Appends a string of RFC 8259.
    ///
    /// - Parameter start: stands before the text; nothing in it needs escaping.
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
            let digits = Array("0123456789abcdef".utf8)
            bytes.append(contentsOf: "\\u00".utf8)
            bytes.append(digits[Int(byte >> 4)])
            bytes.append(digits[Int(byte & 15)])
        default: bytes.append(byte)
        }
    }

    /// Whether a spreadsheet would run a cell that begins so as a formula, or strip what hides one: `=`, `+`, `-`, `@`,
    /// tab and CR.
    static func startsFormula(_ byte: UInt8?) -> Bool {
        switch byte {
        case UInt8(ascii: "="), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "@"), 0x09, 0x0D: true
        default: false
        }
    }

    /// Appends a field of RFC 4180: in quotes where it holds a comma, a quote or a line break, and where it is empty.
    ///
    /// - Parameter start: stands before the text; nothing in it needs quotes.
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
    /// Whether `isFound` holds of any eight bytes. What is left at the end is looked at together with bytes before it
    /// or, in a short text, with letters.
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
