import Logging

/// Writes one JSON object with values of bounded length.
struct JSONLine {
    private var bytes: [UInt8] = []
    private let valueBytesMax: Int
    /// Where the present value has to end.
    private var valueEnd = Int.max

    init(valueBytesMax: Int) {
        self.valueBytesMax = valueBytesMax
        bytes.reserveCapacity(512)
    }

    mutating func begin(at time: LogTime) {
        raw("{\"time\":\"")
        time.write(to: &bytes)
        raw("\"")
    }

    mutating func member(_ key: String, _ value: Logger.MetadataValue) {
        raw(",")
        name(key)
        valueEnd = bytes.count + valueBytesMax
        write(value)
    }

    mutating func end() -> [UInt8] {
        raw("}\n")
        return bytes
    }

    private mutating func write(_ value: Logger.MetadataValue) {
        switch value {
        case .string(let text): string(text)
        case .stringConvertible(let value): scalar(value)
        case .array(let values): array(values)
        case .dictionary(let members): object(members)
        }
    }

    private mutating func scalar(_ value: any CustomStringConvertible & Sendable) {
        switch value {
        case let number as Int: raw("\(number)")
        case let number as Double where number.isFinite: raw("\(number)")
        case let truth as Bool: raw(truth ? "true" : "false")
        default: string(value.description)
        }
    }

    private mutating func array(_ values: [Logger.MetadataValue]) {
        raw("[")
        for (index, value) in values.enumerated() {
            if index > 0 { raw(",") }
            guard bytes.count < valueEnd else {
                raw("\"…\"")
                break
            }
            write(value)
        }
        raw("]")
    }

    private mutating func object(_ members: Logger.Metadata) {
        raw("{")
        var isFirst = true
        for (key, value) in members.sorted(by: { $0.key < $1.key }) where bytes.count < valueEnd {
            if !isFirst { raw(",") }
            isFirst = false
            name(key)
            write(value)
        }
        raw("}")
    }
}

// MARK: - Text

extension JSONLine {
    /// A key is never cut: two might become one.
    private mutating func name(_ key: String) {
        let end = valueEnd
        valueEnd = .max
        string(key)
        valueEnd = end
        raw(":")
    }

    /// Up to the first character that begins behind the end of the value; an ellipsis stands for the rest.
    private mutating func string(_ text: String) {
        raw("\"")
        // Nearly always there is nothing to escape or to cut, and copying whole strings is quicker.
        if bytes.count + text.utf8.count <= valueEnd, text.utf8.allSatisfy(\.isPlain) {
            raw(text)
        } else {
            escapeEach(of: text)
        }
        raw("\"")
    }

    private mutating func escapeEach(of text: String) {
        for byte in text.utf8 {
            if bytes.count >= valueEnd, byte & 0b1100_0000 != 0b1000_0000 {
                return raw("…")
            }
            escape(byte)
        }
    }

    /// What RFC 8259 section 7 has escaped, and DEL, which terminals act on.
    private mutating func escape(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""): raw("\\\"")
        case UInt8(ascii: "\\"): raw("\\\\")
        case UInt8(ascii: "\n"): raw("\\n")
        case UInt8(ascii: "\r"): raw("\\r")
        case UInt8(ascii: "\t"): raw("\\t")
        case 0..<0x20, 0x7F: control(byte)
        default: bytes.append(byte)
        }
    }

    private mutating func control(_ byte: UInt8) {
        let hex = String(byte, radix: 16)
        raw(hex.utf8.count == 1 ? "\\u000" : "\\u00")
        raw(hex)
    }

    private mutating func raw(_ text: String) {
        bytes.append(contentsOf: text.utf8)
    }
}

extension UInt8 {
    /// Whether JSON and terminals take the byte as it is.
    fileprivate var isPlain: Bool {
        self >= 0x20 && self != UInt8(ascii: "\"") && self != UInt8(ascii: "\\") && self != 0x7F
    }
}
