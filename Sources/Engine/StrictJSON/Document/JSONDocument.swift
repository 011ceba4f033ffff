/// A JSON text that was parsed strictly (RFC 8259), and the list of its faults.
///
/// Read values from `root`. A value that does not fit is added to `faults` and reading continues, so that the sender
/// gets all faults at once. Call `check()` at the end. Not sendable: only one task may read it.
public final class JSONDocument {
    let bytes: [UInt8]
    let nodes: [Tape.Node]

    /// Where the search for the next member starts: in this object, at this index. No two accesses overlap, so the
    /// checks of exclusivity are off.
    @exclusivity(unchecked) var cursorOwner = 0
    @exclusivity(unchecked) var cursor = 1

    /// A fault whose pointer is created on demand.
    private struct Finding {
        let index: Int
        /// For an absent member, its name as the end of the pointer; else empty.
        let tail: String
        let code: JSONFault.Code
        let detail: String
    }

    private var findings: [Finding] = []
    private var listed: [JSONFault] = []

    /// Parses the whole text. Duplicate members, lone surrogates and U+0000 become faults.
    ///
    /// - Parameters:
    ///   - bytes: the text in UTF-8.
    ///   - depthMax: how deep containers may nest; the outermost counts 1.
    ///   - refusesNull: whether every `null` is a fault.
    /// - Throws: one fault, with its byte offset, if the bytes are not a JSON text or nest too deep.
    public convenience init(_ bytes: [UInt8], depthMax: Int = 16, refusesNull: Bool = false) throws(JSONFaults) {
        var tokenizer = Tokenizer(bytes, depthMax: depthMax, refusesNull: refusesNull)
        try tokenizer.readText()
        self.init(bytes, tokenizer.tape)
    }

    /// - Parameter bytes: the text that the tape's nodes refer to; it may be longer than that of this document.
    init(_ bytes: [UInt8], _ tape: Tape) {
        self.bytes = bytes
        nodes = tape.nodes
        for finding in tape.findings {
            add(finding.code, finding.code.textDetail, at: finding.index)
        }
    }

    /// The root value of the text.
    public var root: JSONValue {
        JSONValue(document: self, index: 0)
    }

    /// - Throws: all faults, if there are any.
    public func check() throws(JSONFaults) {
        guard findings.isEmpty else { throw JSONFaults(faults) }
    }

    /// All faults so far, those of the text first; at most 100.
    public var faults: [JSONFault] {
        if listed.count < findings.count { listed = makeFaults() }
        return listed
    }

    private func makeFaults() -> [JSONFault] {
        let indices = Set(findings.map(\.index)).sorted()
        let pointers = Dictionary(uniqueKeysWithValues: zip(indices, JSONPointer.make(to: indices, in: self)))
        return findings.map { finding in
            JSONFault(
                pointer: (pointers[finding.index] ?? "") + finding.tail, code: finding.code, detail: finding.detail)
        }
    }

    /// Adds a fault at a value, or at an absent member.
    func add(_ code: JSONFault.Code, _ detail: String, at index: Int, member: StaticString? = nil) {
        guard findings.count < Tape.findingsMax else { return }
        let tail = member.map { "/" + JSONPointer.escape($0.description) } ?? ""
        findings.append(Finding(index: index, tail: tail, code: code, detail: detail))
    }

    /// The bytes of a node; for a string without its quotes, and still escaped.
    func text(at index: Int) -> ArraySlice<UInt8> {
        bytes[Int(nodes[index].start)..<Int(nodes[index].end)]
    }

    func string(at index: Int) -> String {
        let node = nodes[index]
        if node.isEscaped { return String(decoding: Escapes.decode(text(at: index)), as: UTF8.self) }
        // The tokenizer has checked that this is UTF-8.
        let bytes = bytes
        let span = bytes.span
        return String(copying: UTF8Span(unchecked: span.extracting(Int(node.start)..<Int(node.end))))
    }

    /// Whether the node at the index, a member's name, equals `name`.
    func isName(_ index: Int, _ name: StaticString) -> Bool {
        let node = nodes[index]
        if node.isEscaped { return Escapes.decode(text(at: index)).elementsEqual(name.description.utf8) }
        guard Int(node.end &- node.start) == name.utf8CodeUnitCount else { return false }
        let bytes = bytes
        return bytes.span.hasBytes(of: name, at: Int(node.start))
    }
}

extension JSONFault.Code {
    /// The detail of a fault of the text itself.
    fileprivate var textDetail: String {
        switch self {
        case .duplicateMember: "The object has another member of this name."
        case .loneSurrogate: "Half of a surrogate pair is not a character."
        case .nulCharacter: "The character U+0000 is not allowed."
        default: "null is not allowed here."
        }
    }
}
