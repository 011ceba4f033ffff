/// Creates JSON pointers (RFC 6901), only when there is a fault: a valid text does not pay for them.
enum JSONPointer {
    /// A longer name is shortened in a pointer, so that 100 faults do not repeat a huge one.
    private static let nameCharactersMax = 128

    /// Returns the pointers to values, or to members given by the index of their name, in one pass over the document:
    /// 100 faults in one long array must not cost 100 passes.
    ///
    /// - Parameter targets: indices of nodes, ascending.
    static func make(to targets: [Int], in document: JSONDocument) -> [String] {
        var walk = Walk(document)
        return targets.map { walk.pointer(to: $0) }
    }

    /// Escapes `~` and `/` by RFC 6901, section 3.
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

    /// The path to the last target: the containers around it, and the current child of each.
    private struct Walk {
        struct Step {
            /// The pointer to the container.
            let pointer: String
            let isObject: Bool
            /// The index of the node after the container.
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

        /// Advances the innermost container to the child that is the target or contains it. If the target is a member's
        /// name, that is the last step.
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
