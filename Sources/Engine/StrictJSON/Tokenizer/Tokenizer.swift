/// Parses one JSON text (RFC 8259) into a tape, and validates its grammar and UTF-8.
///
/// Recursive: the stack grows with the nesting, which `depthMax` limits.
struct Tokenizer {
    let bytes: [UInt8]
    let depthMax: Int
    let refusesNull: Bool
    var offset = 0
    var tape: Tape

    init(_ bytes: [UInt8], depthMax: Int, refusesNull: Bool) {
        self.init(bytes, depthMax: depthMax, refusesNull: refusesNull, tape: Tape(byteCount: bytes.count))
    }

    init(_ bytes: [UInt8], depthMax: Int, refusesNull: Bool, tape: Tape) {
        self.bytes = bytes
        self.depthMax = depthMax
        self.refusesNull = refusesNull
        self.tape = tape
    }

    /// Reads the whole text: one value with white space around it (RFC 8259, section 2).
    mutating func readText() throws(JSONFaults) {
        try begin()
        try readValue(depth: 1)
        try finish()
    }

    private mutating func begin() throws(JSONFaults) {
        guard bytes.count < UInt32.max else {
            throw fault(.tooLarge, "The text is too large.")
        }
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) {
            throw malformed("A byte order mark is not allowed.")
        }
        skipWhitespace()
    }

    private mutating func finish() throws(JSONFaults) {
        skipWhitespace()
        guard offset == bytes.count else {
            throw malformed("Nothing may follow the value.")
        }
    }

    /// Reads the start of a text whose value is an array; false if it is another value. Then call `readElement`.
    mutating func beginArray() throws(JSONFaults) -> Bool {
        try begin()
        guard peek() == UInt8(ascii: "[") else { return false }
        _ = try openContainer(.array, depth: 1)
        return true
    }

    /// Reads the next element of the outermost array to the tape; at the array's end it reads the rest of the text.
    ///
    /// - Returns: false at the array's end.
    mutating func readElement(isFirst: Bool) throws(JSONFaults) -> Bool {
        let isAtEnd = isFirst ? consume(UInt8(ascii: "]")) : try !continues(until: UInt8(ascii: "]"))
        guard !isAtEnd else {
            try finish()
            return false
        }
        try readValue(depth: 2)
        return true
    }

    private mutating func readValue(depth: Int) throws(JSONFaults) {
        switch peek() {
        case UInt8(ascii: "\""): try readString()
        case UInt8(ascii: "{"): try readObject(depth: depth)
        case UInt8(ascii: "["): try readArray(depth: depth)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try readNumber()
        case UInt8(ascii: "t"): try readLiteral("true", .yes)
        case UInt8(ascii: "f"): try readLiteral("false", .no)
        case UInt8(ascii: "n"): try readNull()
        default: throw malformed("A value is expected.")
        }
    }

    private mutating func readObject(depth: Int) throws(JSONFaults) {
        let index = try openContainer(.object, depth: depth)
        var members = 0
        var hasEscapes = false
        if !consume(UInt8(ascii: "}")) {
            repeat {
                hasEscapes = try readName() || hasEscapes
                try readValue(depth: depth + 1)
                members += 1
            } while try continues(until: UInt8(ascii: "}"))
        }
        closeContainer(index)
        noteDuplicates(ofObject: index, members: members, hasEscapes: hasEscapes)
    }

    private mutating func readArray(depth: Int) throws(JSONFaults) {
        let index = try openContainer(.array, depth: depth)
        if !consume(UInt8(ascii: "]")) {
            repeat {
                try readValue(depth: depth + 1)
            } while try continues(until: UInt8(ascii: "]"))
        }
        closeContainer(index)
    }

    /// Reads a member's name and the colon; true if the name contains an escape.
    private mutating func readName() throws(JSONFaults) -> Bool {
        guard peek() == UInt8(ascii: "\"") else {
            throw malformed("A member's name is expected.")
        }
        let index = tape.nodes.count
        try readString()
        tape.nodes[index].tag = tag(of: tape.nodes[index])
        skipWhitespace()
        guard consume(UInt8(ascii: ":")) else {
            throw malformed("A colon is expected.")
        }
        skipWhitespace()
        return tape.nodes[index].isEscaped
    }

    private mutating func openContainer(_ kind: Tape.Node.Kind, depth: Int) throws(JSONFaults) -> Int {
        guard depth <= depthMax else {
            throw fault(.tooDeep, "No more than \(depthMax) levels are allowed.")
        }
        let index = tape.nodes.count
        tape.nodes.append(Tape.Node(kind: kind, start: UInt32(truncatingIfNeeded: offset)))
        offset += 1
        skipWhitespace()
        return index
    }

    private mutating func closeContainer(_ index: Int) {
        tape.nodes[index].end = UInt32(truncatingIfNeeded: offset)
        tape.nodes[index].next = UInt32(truncatingIfNeeded: tape.nodes.count)
    }

    /// Called after an element: true at a comma, false at the container's end.
    private mutating func continues(until close: UInt8) throws(JSONFaults) -> Bool {
        skipWhitespace()
        if consume(close) { return false }
        guard consume(UInt8(ascii: ",")) else {
            throw malformed("A comma or the end of the container is expected.")
        }
        skipWhitespace()
        return true
    }

    private mutating func readNull() throws(JSONFaults) {
        if refusesNull { tape.note(.null, at: tape.nodes.count) }
        try readLiteral("null", .null)
    }

    private mutating func readLiteral(_ literal: StaticString, _ kind: Tape.Node.Kind) throws(JSONFaults) {
        let end = offset + literal.utf8CodeUnitCount
        guard bytes.span.hasBytes(of: literal, at: offset) else {
            throw malformed("A value is expected.")
        }
        append(kind, start: offset, end: end)
        offset = end
    }
}

extension Tokenizer {
    /// The next byte; 0 at the end of the text, which starts no token.
    func peek() -> UInt8 {
        offset < bytes.count ? bytes[offset] : 0
    }

    /// Skips the byte if it is the next one.
    mutating func consume(_ byte: UInt8) -> Bool {
        guard peek() == byte else { return false }
        offset += 1
        return true
    }

    /// White space is only these four characters (RFC 8259, section 2).
    mutating func skipWhitespace() {
        while offset < bytes.count {
            switch bytes[offset] {
            case UInt8(ascii: " "), UInt8(ascii: "\n"), UInt8(ascii: "\r"), UInt8(ascii: "\t"): offset += 1
            default: return
            }
        }
    }

    mutating func append(
        _ kind: Tape.Node.Kind, isEscaped: Bool = false, start: Int, end: Int
    ) {
        tape.nodes.append(
            Tape.Node(
                kind: kind, isEscaped: isEscaped,
                start: UInt32(truncatingIfNeeded: start), end: UInt32(truncatingIfNeeded: end),
                next: UInt32(truncatingIfNeeded: tape.nodes.count + 1)))
    }

    func malformed(_ detail: String) -> JSONFaults {
        fault(.malformed, detail)
    }

    func fault(_ code: JSONFault.Code, _ detail: String) -> JSONFaults {
        let location = offset < bytes.count ? "At byte \(offset): " : "At the end of the text: "
        return JSONFaults([JSONFault(pointer: "", code: code, detail: location + detail, offset: offset)])
    }
}

/// A JSON text as a flat array of nodes in text order: a container precedes its children, a member's name its value.
/// `next` skips a whole subtree, so that there are no links and no allocations besides the array.
struct Tape {
    /// One value, or the name of a member; 16 bytes.
    struct Node {
        enum Kind: UInt8 {
            case object, array, string, number, yes, no, null
        }

        var kind: Kind
        /// A string that holds at least one escape.
        var isEscaped = false
        /// A hash of a string's bytes: names with different tags differ, names with equal tags may.
        var tag: UInt16 = 0
        /// The index of the first byte; for a string, after the opening quote.
        var start: UInt32
        /// The index after the last byte; for a string, that of the closing quote.
        var end: UInt32 = 0
        /// The index of the node after this one and its descendants.
        var next: UInt32 = 0
    }

    /// A fault inside a well-formed text. The pointer is created from the node's index after parsing.
    struct Finding {
        let index: Int
        let code: JSONFault.Code
    }

    var nodes: [Node]
    var findings: [Finding] = []

    /// The most faults listed for one text: a body full of faults must not cause an even larger response.
    static let findingsMax = 100

    /// The nodes of an object with about ten members.
    private static let smallNodesMax = 24

    /// - Parameter byteCount: the text's length. In ordinary bodies a node takes at least eight bytes of text.
    init(byteCount: Int) {
        nodes = []
        nodes.reserveCapacity(byteCount / 8 + 8)
    }

    /// A tape for a small text of unknown length.
    init() {
        nodes = []
        nodes.reserveCapacity(Tape.smallNodesMax)
    }

    mutating func note(_ code: JSONFault.Code, at index: Int) {
        guard findings.count < Tape.findingsMax else { return }
        findings.append(Finding(index: index, code: code))
    }
}
