import HTTPServer
import HTTPTypes
import HTTPWire
import PushRegistry

/// Generations as entity tags (RFC 9110, sections 8.8.3 and 13.1.1).
enum ETag {
    static func make(_ generation: Int64) -> String { "\"\(generation)\"" }

    /// The precondition of `If-Match`: `*`, or a list of strong entity tags.
    ///
    /// - Throws: `APIError.invalidParameters` for what is neither.
    static func precondition(_ request: ServerRequest) throws(APIError) -> Precondition? {
        guard let field = request.head[.ifMatch] else { return nil }
        let text = field.drop { $0 == " " }
        if text == "*" { return .exists }
        var generations: [Int64] = []
        for element in text.split(separator: ",", omittingEmptySubsequences: false) {
            let tag = element.drop { $0 == " " }
            guard tag.count > 2, tag.first == "\"", tag.last == "\"", let generation = number(tag.dropFirst().dropLast())
            else {
                throw .invalidParameters([
                    ParameterFault(
                        parameter: "If-Match", code: "invalid-header",
                        detail: "This must be * or the ETag of an earlier answer, quotes included.")
                ])
            }
            generations.append(generation)
        }
        return .generation(generations)
    }

    private static func number(_ digits: Substring) -> Int64? {
        digits.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int64(digits) : nil
    }
}
