/// JSON pointers (RFC 6901), made only once something is wrong: a good text never pays for its paths.
enum JSONPointer {
    /// A name is shortened in a pointer beyond this many characters, lest 100 faults repeat a huge one.
    private static let nameCharactersMax = 128

    /// The pointers to values, or to members whose names stand at the indices, in one pass over the document: 100
    /// faults in one long array must not cost 100 walks through it.
    ///
    /// - Parameter targets: indices of nodes, ascending.
    static func make(to targets: [Int], in document: JSONDocument) -> [String] {
        var walk = Walk(document)
        return targets.map { walk.pointer(to: $0) }
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

    /// The way to the last target: the containers around it, and the child of each that was reached.
    private struct Walk {
        struct Step {
            /// The pointer to the container.
            let pointer: String
            let isObject: Bool
            /// The node behind the container.
            let end: Int
            var child: Int
            var ordinal = 0
        }

        let document: JSONDocument
        let nodes: [Tape.Node]
        var steps: [Step] = []

        init(_ document: JSONDocument) {
            self.document = document
            nodes = document.nodes
            enter(0, pointer: "")
        }

        mutating func pointer(to target: Int) -> String {
            guard target > 0 else { return "" }
            while let last = steps.last, target >= last.end { steps.removeLast() }
            while let (reference, index) = advance(to: target) {
                let pointer = steps[steps.count - 1].pointer + "/" + reference
                guard index != target else { return pointer }
                enter(index, pointer: pointer)
            }
            return steps.last?.pointer ?? ""
        }

        private mutating func enter(_ container: Int, pointer: String) {
            let node = document.nodes[container]
            steps.append(
                Step(pointer: pointer, isObject: node.kind == .object, end: Int(node.next), child: container + 1))
        }

        /// Moves the innermost container on to the child that is the target or holds it. A name is the last step: its
        /// index is the target.
        private mutating func advance(to target: Int) -> (reference: String, index: Int)? {
            guard var step = steps.popLast() else { return nil }
            defer { steps.append(step) }
            let offset = step.isObject ? 1 : 0
            var (child, ordinal) = (step.child, step.ordinal)
            while child < step.end, target >= Int(nodes[child + offset].next) {
                child = Int(nodes[child + offset].next)
                ordinal += 1
            }
            (step.child, step.ordinal) = (child, ordinal)
            guard child < step.end else { return nil }
            let reference = step.isObject ? escape(document.string(at: child)) : String(ordinal)
            return (reference, target == child ? child : child + offset)
        }
    }
}
