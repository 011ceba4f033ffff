/// An array of a document: a sequence of its values.
public struct JSONArray: Sequence {
    let document: JSONDocument
    let index: Int

    /// Reads the elements in the order of the text, each in constant time. `null` elements are included.
    public struct Iterator: IteratorProtocol {
        let document: JSONDocument
        var upcoming: Int
        let end: Int

        public mutating func next() -> JSONValue? {
            guard upcoming < end else { return nil }
            defer { upcoming = Int(document.nodes[upcoming].next) }
            return JSONValue(document: document, index: upcoming)
        }
    }

    public func makeIterator() -> Iterator {
        Iterator(document: document, upcoming: index + 1, end: Int(document.nodes[index].next))
    }

    /// The array as a value, for example to report a fault of the whole array.
    public var value: JSONValue {
        JSONValue(document: document, index: index)
    }

    /// Constant time. There is no `count`: it would take a pass over the elements.
    public var isEmpty: Bool { Int(document.nodes[index].next) == index + 1 }

    func hasAtMost(_ elementsMax: Int) -> Bool {
        var count = 0
        for _ in self {
            count += 1
            guard count <= elementsMax else { return false }
        }
        return true
    }
}

/// Reads a JSON text that is an array, element by element. Each element is a document of its own: its faults are listed
/// apart from those of others, and their pointers begin at the element.
///
/// Parses the text once. A fault is found when it is reached: the elements before it were returned already.
public struct JSONElements: ~Copyable {
    private var tokenizer: Tokenizer
    private var isAtStart = true

    /// Reads the start of the text, with the limits of a ``JSONDocument`` of the whole text.
    ///
    /// - Throws: `tooLarge` or `malformed`, if the text does not begin like a JSON text.
    /// - Returns: nil if the text is not an array.
    public init?(_ bytes: [UInt8], depthMax: Int = 16) throws(JSONFaults) {
        var tokenizer = Tokenizer(bytes, depthMax: depthMax, refusesNull: false, tape: Tape())
        guard try tokenizer.beginArray() else { return nil }
        self.tokenizer = tokenizer
    }

    /// Parses the next element.
    ///
    /// - Returns: nil after the last element, once the rest of the text was checked.
    /// - Throws: one fault, with its byte offset in the whole text, if the bytes are not a JSON text or nest too deep.
    ///   Do not call it again after that.
    public mutating func next() throws(JSONFaults) -> JSONDocument? {
        guard try skip() else { return nil }
        return JSONDocument(tokenizer.bytes, tokenizer.tape)
    }

    /// As `next`, without a document of the element.
    ///
    /// - Returns: false after the last element.
    public mutating func skip() throws(JSONFaults) -> Bool {
        tokenizer.tape = Tape()
        defer { isAtStart = false }
        return try tokenizer.readElement(isFirst: isAtStart)
    }
}
