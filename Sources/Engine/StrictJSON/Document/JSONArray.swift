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
