/// A JSON text as a flat array of nodes in text order: a container stands before its children, a member's name
/// before its value. `next` skips a whole subtree, so that nothing is linked and nothing but the array allocated.
struct Tape {
    /// One value, or the name of a member; 16 bytes.
    struct Node {
        enum Kind: UInt8 {
            case object, array, string, number, yes, no, null
        }

        var kind: Kind
        /// A string that holds at least one escape.
        var isEscaped = false
        /// A few bits of a string's bytes: names with different tags are different.
        var tag: UInt16 = 0
        /// The first byte; of a string, the one after the opening quote.
        var start: UInt32
        /// The byte after the last; of a string, the closing quote.
        var end: UInt32 = 0
        /// The index of the node after this one and all that is inside it.
        var next: UInt32 = 0
    }

    /// What the tokenizer met inside a well-formed text; a pointer is made of the node's index when all is read.
    struct Finding {
        let index: Int
        let code: JSONFault.Code
    }

    var nodes: [Node]
    var findings: [Finding] = []

    /// How many faults of one text are listed; a body of nothing but faults must not be answered by a larger one.
    static let findingsMax = 100

    /// - Parameter byteCount: the text's length; a node takes eight bytes of text or more in ordinary bodies.
    init(byteCount: Int) {
        nodes = []
        nodes.reserveCapacity(byteCount / 8 + 8)
    }

    mutating func note(_ code: JSONFault.Code, at index: Int) {
        guard findings.count < Tape.findingsMax else { return }
        findings.append(Finding(index: index, code: code))
    }
}
