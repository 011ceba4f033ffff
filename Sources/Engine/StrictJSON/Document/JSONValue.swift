/// One value of a document. A typed access that does not fit adds a fault at the value and returns nil.
public struct JSONValue {
    /// The JSON types.
    public enum Kind: Sendable {
        /// The six types of RFC 8259 section 1.
        case object, array, string, number, boolean, null
    }

    let document: JSONDocument
    let index: Int

    /// Reading it adds no fault.
    public var kind: Kind {
        switch document.nodes[index].kind {
        case .object: .object
        case .array: .array
        case .string: .string
        case .number: .number
        case .yes, .no: .boolean
        case .null: .null
        }
    }

    /// The bytes of the value in the text, unchanged.
    public var rawBytes: ArraySlice<UInt8> {
        let node = document.nodes[index]
        let quotes = node.kind == .string ? 1 : 0
        return document.bytes[(Int(node.start) - quotes)..<(Int(node.end) + quotes)]
    }

    /// The location of the value: a JSON pointer (RFC 6901) from the root of the text.
    public var pointer: String { JSONPointer.make(to: [index], in: document)[0] }

    /// The locations of values of one document, in one pass over it.
    ///
    /// - Parameter values: in the order of the text.
    public static func pointers(to values: [JSONValue]) -> [String] {
        values.first.map { JSONPointer.make(to: values.map(\.index), in: $0.document) } ?? []
    }

    /// Adds a fault at this value.
    public func refuse(_ code: JSONFault.Code, _ detail: String) {
        document.add(code, detail, at: index)
    }

    /// Nil and the fault `wrongType` for any other type.
    public func object() -> JSONObject? {
        expect(.object, "an object") ? JSONObject(document: document, index: index) : nil
    }

    /// - Parameter elementsMax: the most elements allowed.
    public func array(elementsMax: Int) -> JSONArray? {
        guard expect(.array, "an array") else { return nil }
        let array = JSONArray(document: document, index: index)
        guard array.hasAtMost(elementsMax) else {
            refuse(.tooMany, "At most \(elementsMax) elements are allowed.")
            return nil
        }
        return array
    }

    /// - Parameter scalarsMax: the most Unicode scalars allowed.
    public func string(scalarsMax: Int) -> String? {
        guard expect(.string, "a string") else { return nil }
        let string = document.string(at: index)
        guard string.utf8.count <= scalarsMax || string.unicodeScalars.count <= scalarsMax else {
            refuse(.tooLong, "At most \(scalarsMax) characters are allowed.")
            return nil
        }
        return string
    }

    /// Nil and the fault `wrongType` for any other type.
    public func boolean() -> Bool? {
        switch document.nodes[index].kind {
        case .yes: return true
        case .no: return false
        default:
            refuse(.wrongType, "This must be true or false.")
            return nil
        }
    }

    /// An integer in any notation (`3600`, `3600.0`, `36e2`), exactly.
    public func integer(in range: ClosedRange<Int64> = Int64.min...Int64.max) -> Int64? {
        guard expect(.number, "a number") else { return nil }
        switch JSONNumber.integer(document.text(at: index)) {
        case .value(let value) where range.contains(value):
            return value
        case .fraction:
            refuse(.notAnInteger, "This must be an integer.")
        case .value, .overflow:
            refuse(.outOfRange, "This must be from \(range.lowerBound) to \(range.upperBound).")
        }
        return nil
    }

    /// The nearest double; a number beyond the range of doubles is out of range.
    public func double(in range: ClosedRange<Double>) -> Double? {
        guard expect(.number, "a number") else { return nil }
        guard let value = Double(document.string(at: index)), value.isFinite, range.contains(value) else {
            refuse(.outOfRange, "This must be from \(range.lowerBound) to \(range.upperBound).")
            return nil
        }
        return value
    }

    private func expect(_ kind: Tape.Node.Kind, _ name: StaticString) -> Bool {
        if document.nodes[index].kind == kind { return true }
        refuse(.wrongType, "This must be \(name).")
        return false
    }
}
