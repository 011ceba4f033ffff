import Basics

extension Tokenizer {
    /// Reads a string (RFC 8259, section 7), from its opening quote to the closing one.
    mutating func readString() throws(JSONFaults) {
        let start = offset + 1
        var isEscaped = false
        offset = start
        while true {
            offset = bytes.span.endOfPlainText(from: offset)
            switch peek() {
            case UInt8(ascii: "\""):
                append(.string, isEscaped: isEscaped, start: start, end: offset)
                offset += 1
                return
            case UInt8(ascii: "\\"):
                isEscaped = true
                try readEscape()
            case 0x80...:
                try readMultibyteScalar()
            default:
                throw malformed(
                    offset < bytes.count ? "A control character is not allowed." : "The string has no end.")
            }
        }
    }

    private mutating func readEscape() throws(JSONFaults) {
        offset += 1
        switch peek() {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            offset += 1
        case UInt8(ascii: "u"):
            offset += 1
            try readUnicodeEscape()
        default:
            throw malformed("An escape is expected.")
        }
    }

    /// Reads `\uXXXX` from its first digit on; a surrogate pair is read as one.
    private mutating func readUnicodeEscape() throws(JSONFaults) {
        switch try readHexDigits() {
        case 0:
            tape.note(.nulCharacter, at: tape.nodes.count)
        case 0xD800...0xDBFF:
            guard peek() == UInt8(ascii: "\\"), offset + 1 < bytes.count, bytes[offset + 1] == UInt8(ascii: "u") else {
                return tape.note(.loneSurrogate, at: tape.nodes.count)
            }
            let second = offset
            offset += 2
            guard !(0xDC00...0xDFFF).contains(try readHexDigits()) else { return }
            tape.note(.loneSurrogate, at: tape.nodes.count)
            offset = second
        case 0xDC00...0xDFFF:
            tape.note(.loneSurrogate, at: tape.nodes.count)
        default:
            return
        }
    }

    private mutating func readHexDigits() throws(JSONFaults) -> UInt32 {
        var unit: UInt32 = 0
        for _ in 0..<4 {
            guard let digit = peek().hexDigitValue else {
                throw malformed("Four hexadecimal digits are expected.")
            }
            unit = unit << 4 | UInt32(digit)
            offset += 1
        }
        return unit
    }

    /// Reads one well-formed sequence of two to four bytes (Unicode 15, table 3-7): no overlong form, no surrogate,
    /// nothing above U+10FFFF.
    private mutating func readMultibyteScalar() throws(JSONFaults) {
        let lead = bytes[offset]
        let count: Int
        var second: ClosedRange<UInt8> = 0x80...0xBF
        switch lead {
        case 0xC2...0xDF: count = 2
        case 0xE0: (count, second) = (3, 0xA0...0xBF)
        case 0xED: (count, second) = (3, 0x80...0x9F)
        case 0xE1...0xEF: count = 3
        case 0xF0: (count, second) = (4, 0x90...0xBF)
        case 0xF1...0xF3: count = 4
        case 0xF4: (count, second) = (4, 0x80...0x8F)
        default: throw malformed("The text is not UTF-8.")
        }
        let end = offset + count
        guard end <= bytes.count, second.contains(bytes[offset + 1]),
            bytes[(offset + 2)..<end].allSatisfy({ $0 & 0xC0 == 0x80 })
        else {
            throw malformed("The text is not UTF-8.")
        }
        offset = end
    }
}

extension Tokenizer {
    /// Reads a number (RFC 8259, section 6). Keeps its text; the value is computed on demand.
    mutating func readNumber() throws(JSONFaults) {
        let start = offset
        if peek() == UInt8(ascii: "-") { offset += 1 }
        if peek() == UInt8(ascii: "0") {
            offset += 1
        } else {
            try readDigits()
        }
        if peek() == UInt8(ascii: ".") {
            offset += 1
            try readDigits()
        }
        if peek() | 0x20 == UInt8(ascii: "e") {
            offset += 1
            if peek() == UInt8(ascii: "+") || peek() == UInt8(ascii: "-") { offset += 1 }
            try readDigits()
        }
        append(.number, start: start, end: offset)
    }

    private mutating func readDigits() throws(JSONFaults) {
        let start = offset
        while peek() &- UInt8(ascii: "0") < 10 { offset += 1 }
        guard offset > start else {
            throw malformed("A digit is expected.")
        }
    }
}
