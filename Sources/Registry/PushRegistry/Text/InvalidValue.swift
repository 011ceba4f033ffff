/// Classes of ASCII characters. Swift's `Character` properties cover all of Unicode.
enum ASCII {
    static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }
    static func isLetter(_ byte: UInt8) -> Bool { (byte | 0x20) &- UInt8(ascii: "a") < 26 }
    static func lowercased(_ byte: UInt8) -> UInt8 { byte &- UInt8(ascii: "A") < 26 ? byte | 0x20 : byte }
    static func isAlphanumeric(_ byte: UInt8) -> Bool { isDigit(byte) || isLetter(byte) }
}

/// The characters 0x21 to 0x7E: ASCII without space and control characters.
enum VisibleASCII {
    static func identifier(_ text: String, code: String) throws(InvalidValue) -> String {
        guard (1...128).contains(text.utf8.count), contains(text), isSegment(text) else {
            throw InvalidValue(
                code: code, detail: "This must be 1 to 128 visible ASCII characters, and neither . nor ..")
        }
        return text
    }

    /// Whether a text can be a segment of a path: clients and proxies remove `.` and `..`.
    static func isSegment(_ text: String) -> Bool { text != "." && text != ".." }

    static func contains(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 &- 0x21 < 0x5E }
    }
}

/// Why a text or number is not a valid value of the domain. It says what is expected and never quotes the input.
public struct InvalidValue: Error, Hashable, Sendable {
    /// For programs: stable, kebab-case.
    public let code: String
    /// For people.
    public let detail: String

    public init(code: String, detail: String) {
        self.code = code
        self.detail = detail
    }
}
