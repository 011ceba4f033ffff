/// JSON pointers (RFC 6901), made only once something is wrong: a good text never pays for its paths.
enum JSONPointer {
    /// A name is shortened in a pointer beyond this many characters, lest 100 faults repeat a huge one.
    private static let nameCharactersMax = 128

    /// The pointer to a value, or to the member whose name stands at the index.
    static func make(to target: Int, in document: JSONDocument) -> String {
        var pointer = ""
        var index = 0
        while index != target, let step = step(from: index, towards: target, in: document) {
            pointer += "/" + step.reference
            index = step.index
        }
        return pointer
    }

    /// `~` and `/` as RFC 6901, section 3, has them.
    static func escape(_ name: String) -> String {
        var escaped = ""
        for scalar in name.unicodeScalars.prefix(nameCharactersMax) {
            switch scalar {
            case "~": escaped += "~0"
            case "/": escaped += "~1"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return name.unicodeScalars.count > nameCharactersMax ? escaped + "…" : escaped
    }

    /// The child that is the target or holds it. A name is the last step: its index is the target.
    private static func step(
        from container: Int, towards target: Int, in document: JSONDocument
    ) -> (reference: String, index: Int)? {
        let isObject = document.nodes[container].kind == .object
        let end = Int(document.nodes[container].next)
        var child = container + 1
        var ordinal = 0
        while child < end {
            let value = isObject ? child + 1 : child
            let next = Int(document.nodes[value].next)
            if target < next {
                let reference = isObject ? escape(document.string(at: child)) : String(ordinal)
                return (reference, target == child ? child : value)
            }
            child = next
            ordinal += 1
        }
        return nil
    }
}
