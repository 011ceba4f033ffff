import Basics

/// Writes one JSON text (RFC 8259) as bytes, compactly, in the order of the calls. The writer adds the commas. The
/// caller must write one value after each name, and names in objects only: this is not checked.
public struct JSONWriter {
    /// The text so far, in UTF-8; complete when the outermost value is.
    public private(set) var bytes: [UInt8] = []
    /// Whether the next value must be preceded by a comma.
    private var needsComma = false

    /// - Parameter capacity: the expected number of bytes.
    public init(capacity: Int = 512) {
        bytes.reserveCapacity(capacity)
    }

    /// Appends to `buffer`, and takes over its memory.
    public init(appendingTo buffer: consuming [UInt8]) {
        bytes = buffer
    }

    /// Writes an object around the members that `members` writes. If it throws, the text stays incomplete.
    public mutating func object(_ members: (inout JSONWriter) throws -> Void) rethrows {
        open(UInt8(ascii: "{"))
        try members(&self)
        close(UInt8(ascii: "}"))
    }

    /// Writes an array around the elements that `elements` writes. If it throws, the text stays incomplete.
    public mutating func array(_ elements: (inout JSONWriter) throws -> Void) rethrows {
        open(UInt8(ascii: "["))
        try elements(&self)
        close(UInt8(ascii: "]"))
    }

    /// A member's name, whose characters must not need escapes. Its value must follow.
    public mutating func name(_ name: StaticString) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        name.withUTF8Buffer { bytes.append(contentsOf: $0) }
        bytes.append(UInt8(ascii: "\""))
        endName()
    }

    /// A member's name that is not a literal. Its value must follow.
    public mutating func name(_ name: String) {
        string(name)
        endName()
    }

    /// Escapes quote, backslash, control characters and DEL.
    public mutating func string(_ value: String) {
        separate()
        var value = value
        value.withUTF8 { bytes.appendJSONString(UnsafeRawBufferPointer($0)) }
    }

    /// A string that is cut once `bytes` has reached the length `end`, after a whole character; `…` replaces the
    /// rest.
    public mutating func string(_ value: String, endingAt end: Int) {
        // Usually nothing is cut, and copying whole strings is faster.
        guard bytes.count + value.utf8.count + 2 > end else { return string(value) }
        separate()
        bytes.append(UInt8(ascii: "\""))
        for scalar in value.unicodeScalars {
            guard bytes.count < end else {
                bytes.append(contentsOf: "…".utf8)
                break
            }
            for byte in UTF8.encode(scalar) ?? .init() { bytes.appendEscaped(byte) }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    /// A string that `write` appends; its characters must not need escapes.
    public mutating func plainString(_ write: (inout [UInt8]) -> Void) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        write(&bytes)
        bytes.append(UInt8(ascii: "\""))
    }

    /// Returns the text together with its memory.
    public consuming func takeBytes() -> [UInt8] { bytes }

    /// A number that `write` appends in JSON syntax.
    public mutating func number(_ write: (inout [UInt8]) -> Void) {
        separate()
        write(&bytes)
    }

    /// All digits, also beyond 2^53, where some readers lose precision (RFC 8259 section 6).
    public mutating func integer(_ value: Int64) {
        separate()
        bytes.appendDecimal(value)
    }

    /// The shortest text that parses to the same double; `null` if it is infinite or not a number, which JSON cannot
    /// express.
    public mutating func double(_ value: Double) {
        guard value.isFinite else { return null() }
        separate()
        bytes.append(contentsOf: value.description.utf8)
    }

    /// `true` or `false`.
    public mutating func boolean(_ value: Bool) {
        separate()
        bytes.append(contentsOf: value ? "true".utf8 : "false".utf8)
    }

    /// For a member without a value, or an absent element.
    public mutating func null() {
        separate()
        bytes.append(contentsOf: "null".utf8)
    }

    /// A value that is JSON already, or members with commas between them; it is not checked.
    public mutating func raw(_ value: some Sequence<UInt8>) {
        separate()
        bytes.append(contentsOf: value)
    }

    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        needsComma = true
    }

    private mutating func endName() {
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    private mutating func open(_ bracket: UInt8) {
        separate()
        bytes.append(bracket)
        needsComma = false
    }

    private mutating func close(_ bracket: UInt8) {
        bytes.append(bracket)
        needsComma = true
    }
}

extension JSONWriter {
    /// A name and its value. The name must not need escapes, as for all `member` functions.
    public mutating func member(_ name: StaticString, _ value: String) {
        self.name(name)
        string(value)
    }

    /// `null` if there is no value.
    public mutating func member(_ name: StaticString, _ value: String?) {
        self.name(name)
        if let value { string(value) } else { null() }
    }

    /// Traps if the value does not fit into 64 bits.
    @inlinable
    public mutating func member(_ name: StaticString, _ value: some SignedInteger & FixedWidthInteger) {
        self.name(name)
        integer(Int64(value))
    }

    /// `null` if there is no value.
    public mutating func member<Number: SignedInteger & FixedWidthInteger>(_ name: StaticString, _ value: Number?) {
        if let value { member(name, value) } else { member(name, nil as String?) }
    }

    /// `null` if the value is infinite or not a number.
    public mutating func member(_ name: StaticString, _ value: Double) {
        self.name(name)
        double(value)
    }

    /// `true` or `false`.
    public mutating func member(_ name: StaticString, _ value: Bool) {
        self.name(name)
        boolean(value)
    }

    /// `null` if there is no value.
    public mutating func member(_ name: StaticString, _ value: Bool?) {
        self.name(name)
        if let value { boolean(value) } else { null() }
    }

    /// An array of strings, in order.
    public mutating func member(_ name: StaticString, _ values: [String]) {
        self.name(name)
        array { writer in
            for value in values { writer.string(value) }
        }
    }
}

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
