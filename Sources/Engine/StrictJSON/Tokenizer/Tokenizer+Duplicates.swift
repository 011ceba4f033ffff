extension Tokenizer {
    /// Up to this many names are compared pair by pair, which is faster than hashing and needs no memory. Beyond, pairs
    /// would let a hostile object cause quadratic work.
    private static let pairwiseMembersMax = 32

    /// Adds a fault for every name that occurs earlier in the same object. RFC 8259 leaves the meaning of such an
    /// object open, and two readers might disagree about it.
    mutating func noteDuplicates(ofObject index: Int, members: Int, hasEscapes: Bool) {
        if hasEscapes || members > Self.pairwiseMembersMax {
            noteDuplicatesByHash(ofObject: index)
        } else {
            noteDuplicatesByPairs(ofObject: index)
        }
    }

    private mutating func noteDuplicatesByPairs(ofObject index: Int) {
        let first = index + 1
        let end = tape.nodes.count
        var tags: UInt64 = 0
        var name = first
        while name < end {
            let bit: UInt64 = 1 << UInt64(tape.nodes[name].tag & 63)
            if tags & bit != 0, hasEqual(name, from: first) { tape.note(.duplicateMember, at: name) }
            tags |= bit
            name = Int(tape.nodes[name + 1].next)
        }
    }

    private func hasEqual(_ name: Int, from first: Int) -> Bool {
        let node = tape.nodes[name]
        var earlier = first
        while earlier < name {
            let other = tape.nodes[earlier]
            if other.tag == node.tag, text(of: other) == text(of: node) { return true }
            earlier = Int(tape.nodes[earlier + 1].next)
        }
        return false
    }

    private mutating func noteDuplicatesByHash(ofObject index: Int) {
        var seen: Set<ArraySlice<UInt8>> = []
        var name = index + 1
        let end = tape.nodes.count
        while name < end {
            let node = tape.nodes[name]
            let text = node.isEscaped ? Escapes.decode(text(of: node))[...] : text(of: node)
            if !seen.insert(text).inserted { tape.note(.duplicateMember, at: name) }
            name = Int(tape.nodes[name + 1].next)
        }
    }

    /// Combines length, first, middle and last byte of a name: enough to distinguish nearly all names of one object.
    func tag(of name: Tape.Node) -> UInt16 {
        let (start, end) = (Int(name.start), Int(name.end))
        guard end > start else { return 0 }
        let low = UInt16(truncatingIfNeeded: end &- start) &+ UInt16(bytes[start]) &* 31
        return low &+ UInt16(bytes[(start &+ end) >> 1]) &* 131 &+ UInt16(bytes[end &- 1]) &* 617
    }

    private func text(of node: Tape.Node) -> ArraySlice<UInt8> {
        bytes[Int(node.start)..<Int(node.end)]
    }
}
