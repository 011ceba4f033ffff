/// A JSON text as a flat array of nodes in text order: a container precedes its children, a member's name its value.
/// `next` skips a whole subtree, so that there are no links and no allocations besides the array.
struct Tape {
    /// One value, or the name of a member; 16 bytes.
    struct Node {
        enum Kind: UInt8 {
            case object, array, string, number, yes, no, null
        }

        var kind: Kind
        /// A string that holds at least one escape.
        var isEscaped = false
        /// A hash of a string's bytes: names with different tags differ, names with equal tags may.
        var tag: UInt16 = 0
        /// The index of the first byte; for a string, after the opening quote.
        var start: UInt32
        /// The index after the last byte; for a string, that of the closing quote.
        var end: UInt32 = 0
        /// The index of the node after this one and its descendants.
        var next: UInt32 = 0
    }

    /// A fault inside a well-formed text. The pointer is created from the node's index after parsing.
    struct Finding {
        let index: Int
        let code: JSONFault.Code
    }

    var nodes: [Node]
    var findings: [Finding] = []

    /// The most faults listed for one text: a body full of faults must not cause an even larger response.
    static let findingsMax = 100

    /// The nodes of an object with about ten members.
    private static let smallNodesMax = 24

    /// - Parameter byteCount: the text's length. In ordinary bodies a node takes at least eight bytes of text.
    init(byteCount: Int) {
        nodes = []
        nodes.reserveCapacity(byteCount / 8 + 8)
    }

    /// A tape for a small text of unknown length.
    init() {
        nodes = []
        nodes.reserveCapacity(Tape.smallNodesMax)
    }

    mutating func note(_ code: JSONFault.Code, at index: Int) {
        guard findings.count < Tape.findingsMax else { return }
        findings.append(Finding(index: index, code: code))
    }
}
