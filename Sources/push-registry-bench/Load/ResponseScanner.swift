/// Parses only the end of a response and its result. For responses of a known server.
enum ResponseScanner {
    struct Response {
        let status: Int
        /// The length of head and body.
        let byteCount: Int
        let outcome: Outcome
    }

    /// The member `status` in the response to a registration or logout, or what a list of notifications has.
    enum Outcome: Int, CaseIterable {
        case none, unchanged, updated, created, loggedOut, posted, nothingMissed
    }

    private static let lengthField = Array("content-length:".utf8)
    private static let statusMember = Array("\"status\":\"".utf8)
    private static let posted = Array("{\"notifications\":[{".utf8)
    private static let nothingMissed = Array(",\"notifications\":[],".utf8)
    private static let epochMember = Array("{\"epoch\":\"".utf8)

    /// Nil while the response is incomplete.
    static func scan(_ bytes: UnsafeRawBufferPointer) -> Response? {
        guard bytes.count > 12, let head = scanHead(bytes), head.end + head.bodyCount <= bytes.count else { return nil }
        let status = (9..<12).reduce(0) { $0 * 10 + Int(bytes[$1] &- UInt8(ascii: "0")) }
        let end = head.end + head.bodyCount
        return Response(status: status, byteCount: end, outcome: outcome(bytes, head.end..<end))
    }

    private static func scanHead(_ bytes: UnsafeRawBufferPointer) -> (end: Int, bodyCount: Int)? {
        var bodyCount = 0
        var lineStart = 0
        for at in 1..<bytes.count where bytes[at] == UInt8(ascii: "\n") {
            if at - lineStart == 1 { return (at + 1, bodyCount) }
            if matchesLengthField(bytes, lineStart) { bodyCount = number(bytes, lineStart + lengthField.count) }
            lineStart = at + 1
        }
        return nil
    }

    private static func matchesLengthField(_ bytes: UnsafeRawBufferPointer, _ start: Int) -> Bool {
        guard start + lengthField.count < bytes.count else { return false }
        for index in lengthField.indices where bytes[start + index] | 0x20 != lengthField[index] | 0x20 { return false }
        return true
    }

    private static func number(_ bytes: UnsafeRawBufferPointer, _ start: Int) -> Int {
        var number = 0
        var at = start
        while bytes[at] == UInt8(ascii: " ") { at += 1 }
        while bytes[at] &- UInt8(ascii: "0") < 10 {
            number = number * 10 + Int(bytes[at] &- UInt8(ascii: "0"))
            at += 1
        }
        return number
    }

    private static func outcome(_ bytes: UnsafeRawBufferPointer, _ body: Range<Int>) -> Outcome {
        guard body.count > statusMember.count + 2 else { return .none }
        if body.count > posted.count, matches(bytes, body.lowerBound, posted) { return .posted }
        if matches(bytes, body.lowerBound, epochMember) {
            let rest = body.dropFirst(epochMember.count).prefix { bytes[$0] != UInt8(ascii: "\"") }.endIndex + 1
            let isEmpty = rest + nothingMissed.count <= body.upperBound && matches(bytes, rest, nothingMissed)
            return isEmpty ? .nothingMissed : .none
        }
        for start in body.lowerBound..<body.upperBound - statusMember.count - 2 {
            guard bytes[start] == UInt8(ascii: "\""), bytes[start + 1] == UInt8(ascii: "s") else { continue }
            guard matches(bytes, start, statusMember) else { continue }
            let word = start + statusMember.count
            if bytes[word] == UInt8(ascii: "l") { return .loggedOut }
            guard bytes[word] == UInt8(ascii: "u") else { return .created }
            return bytes[word + 1] == UInt8(ascii: "n") ? .unchanged : .updated
        }
        return .none
    }

    private static func matches(_ bytes: UnsafeRawBufferPointer, _ start: Int, _ text: [UInt8]) -> Bool {
        for index in text.indices where bytes[start + index] != text[index] { return false }
        return true
    }
}
