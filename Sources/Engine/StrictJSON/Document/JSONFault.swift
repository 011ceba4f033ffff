/// One fault of a JSON text, described for the sender, who must fix it.
///
/// A detail describes what is expected and never quotes the input: bodies contain secrets.
public struct JSONFault: Hashable, Sendable {
    /// The location: a JSON pointer (RFC 6901) from the root of the text; `""` is the text itself.
    public let pointer: String
    /// The kind of fault, for programs: stable, kebab-case.
    public let code: Code
    /// One sentence for people.
    public let detail: String
    /// The byte at which parsing stopped; only if the text is not JSON at all.
    public let offset: Int?

    /// - Parameter detail: must not quote the input.
    public init(pointer: String, code: Code, detail: String, offset: Int? = nil) {
        self.pointer = pointer
        self.code = code
        self.detail = detail
        self.offset = offset
    }

    /// A stable name for a kind of fault. Extend it for fields with their own rules.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// Kebab-case; part of the API, so it must not change.
        public let rawValue: String

        /// Checks nothing.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }
    }
}

extension JSONFault.Code {
    /// Not JSON by RFC 8259: bad syntax, bad UTF-8, a byte order mark, text after the value.
    public static let malformed = JSONFault.Code(rawValue: "malformed-json")
    /// Containers nested beyond the reader's limit.
    public static let tooDeep = JSONFault.Code(rawValue: "too-deep")
    /// A text beyond the 4 GiB that the tape can address.
    public static let tooLarge = JSONFault.Code(rawValue: "too-large")
    /// A name that occurs twice in one object.
    public static let duplicateMember = JSONFault.Code(rawValue: "duplicate-member")
    /// An escaped UTF-16 surrogate without its other half.
    public static let loneSurrogate = JSONFault.Code(rawValue: "lone-surrogate")
    /// U+0000, which PostgreSQL's text cannot hold.
    public static let nulCharacter = JSONFault.Code(rawValue: "nul-character")
    /// A `null` where the reader refuses it.
    public static let null = JSONFault.Code(rawValue: "null")
    /// An unknown member, if the reader refuses those.
    public static let unknownMember = JSONFault.Code(rawValue: "unknown-member")
    /// A required member that is absent or `null`.
    public static let required = JSONFault.Code(rawValue: "required")
    /// Another JSON type than expected.
    public static let wrongType = JSONFault.Code(rawValue: "wrong-type")
    /// A string with more Unicode scalars than allowed.
    public static let tooLong = JSONFault.Code(rawValue: "too-long")
    /// An array with more elements than allowed.
    public static let tooMany = JSONFault.Code(rawValue: "too-many")
    /// A number outside its range.
    public static let outOfRange = JSONFault.Code(rawValue: "out-of-range")
    /// A number with a fraction where an integer is expected.
    public static let notAnInteger = JSONFault.Code(rawValue: "not-an-integer")
}

/// All faults of one text, in the order of their discovery; never empty when thrown.
public struct JSONFaults: Error, Hashable, Sendable {
    /// At most 100 from one `JSONDocument`. Exactly one, with an offset, if the text could not be parsed.
    public let faults: [JSONFault]

    /// - Parameter faults: not empty.
    public init(_ faults: [JSONFault]) {
        self.faults = faults
    }
}

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
