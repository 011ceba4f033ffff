import Basics

extension [UInt8] {
    /// Appends a JSON string (RFC 8259 section 7). Nearly all texts need no escapes: they are scanned eight bytes at a
    /// time and copied whole.
    ///
    /// - Parameter start: a prefix that needs no escapes.
    public mutating func appendJSONString(_ text: UnsafeRawBufferPointer, after start: [UInt8] = []) {
        append(UInt8(ascii: "\""))
        append(contentsOf: start)
        if text.hasWord(where: \.mustEscape) {
            for byte in text { appendEscaped(byte) }
        } else {
            append(contentsOf: text)
        }
        append(UInt8(ascii: "\""))
    }

    /// Appends a byte of a JSON string. Escapes quote, backslash, control characters, and DEL, which terminals
    /// interpret.
    mutating func appendEscaped(_ byte: UInt8) {
        switch byte {
        case 0x0A: append(contentsOf: "\\n".utf8)
        case 0x0D: append(contentsOf: "\\r".utf8)
        case 0x09: append(contentsOf: "\\t".utf8)
        case UInt8(ascii: "\""), UInt8(ascii: "\\"):
            append(UInt8(ascii: "\\"))
            append(byte)
        case ..<0x20, 0x7F:
            append(contentsOf: "\\u00".utf8)
            appendHex(byte)
        default: append(byte)
        }
    }
}

extension UInt64 {
    /// Whether one of eight bytes must be escaped.
    fileprivate var mustEscape: Bool {
        hasByte(below: 0x20) || hasByte(UInt8(ascii: "\"")) || hasByte(UInt8(ascii: "\\")) || hasByte(0x7F)
    }
}
