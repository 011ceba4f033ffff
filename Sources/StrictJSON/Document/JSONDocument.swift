/// A JSON text that was read once, strictly (RFC 8259), and the list of all that is wrong with it.
///
/// Read values from `root`; whatever does not fit is added to `faults` and reading goes on, so that a sender learns of
/// everything at once. Ask `check()` at the end. Not sendable: one task reads it.
public final class JSONDocument {
    let bytes: [UInt8]
    let nodes: [Tape.Node]

    /// The object that was read last, and the place behind the member that was found there. Nobody else sees them,
    /// so that nothing can overlap.
    @exclusivity(unchecked) var cursorOwner = 0
    @exclusivity(unchecked) var cursor = 1

    /// A fault whose pointer is made when somebody asks for it.
    private struct Finding {
        let index: Int
        /// The member that is absent, as the end of the pointer.
        let tail: String
        let code: JSONFault.Code
        let detail: String
    }

    private var findings: [Finding] = []
    private var listed: [JSONFault] = []

    /// Reads the whole text. Duplicate members, lone surrogates and U+0000 become faults.
    ///
    /// - Parameters:
    ///   - bytes: the text in UTF-8.
    ///   - depthMax: how deep containers may nest, the outermost counting 1.
    ///   - refusesNull: whether a `null` anywhere is a fault.
    /// - Throws: one fault, with the byte's offset, if the bytes are not one JSON text or nest too deep.
    public init(_ bytes: [UInt8], depthMax: Int = 16, refusesNull: Bool = false) throws(JSONFaults) {
        var tokenizer = Tokenizer(bytes, depthMax: depthMax, refusesNull: refusesNull)
        try tokenizer.readText()
        self.bytes = bytes
        nodes = tokenizer.tape.nodes
        for finding in tokenizer.tape.findings {
            add(finding.code, finding.code.textDetail, at: finding.index)
        }
    }

    /// The text's one value.
    public var root: JSONValue {
        JSONValue(document: self, index: 0)
    }

    /// - Throws: all faults, if there is any.
    public func check() throws(JSONFaults) {
        guard findings.isEmpty else { throw JSONFaults(faults) }
    }

    /// All faults so far, the text's own first; at most 100 are listed.
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

    /// Adds a fault at a value, or at a member that is absent.
    func add(_ code: JSONFault.Code, _ detail: String, at index: Int, member: StaticString? = nil) {
        guard findings.count < Tape.findingsMax else { return }
        let tail = member.map { "/" + JSONPointer.escape($0.description) } ?? ""
        findings.append(Finding(index: index, tail: tail, code: code, detail: detail))
    }

    /// The bytes of a node; a string's without its quotes, and still escaped.
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

    /// Whether the name at the index is the given one.
    func isName(_ index: Int, _ name: StaticString) -> Bool {
        let node = nodes[index]
        if node.isEscaped { return Escapes.decode(text(at: index)).elementsEqual(name.description.utf8) }
        guard Int(node.end &- node.start) == name.utf8CodeUnitCount else { return false }
        let bytes = bytes
        return bytes.span.hasBytes(of: name, at: Int(node.start))
    }
}

extension JSONFault.Code {
    /// The detail of a fault that lies in the text itself.
    fileprivate var textDetail: String {
        switch self {
        case .duplicateMember: "The object has another member of this name."
        case .loneSurrogate: "Half of a surrogate pair is not a character."
        case .nulCharacter: "The character U+0000 is not allowed."
        default: "null is not allowed here."
        }
    }
}
