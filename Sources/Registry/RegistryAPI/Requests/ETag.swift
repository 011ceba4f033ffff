import HTTPApplication
import HTTPTypes
import HTTPWire
import PushRegistry

/// Generations and revisions as entity tags (RFC 9110, sections 8.8.3 and 13.1.1).
enum ETag {
    /// - Parameter value: a generation or a revision.
    static func make(_ value: some CustomStringConvertible) -> String { "\"\(value)\"" }

    /// The precondition of `If-Match`: `*`, or a list of entity tags. `If-Match` uses the strong comparison, so a weak
    /// tag never matches.
    ///
    /// - Throws: `APIError.invalidParameters` for an invalid field.
    static func precondition(_ request: ServerRequest) throws(APIError) -> Precondition? {
        switch try tags(request, generation) {
        case nil: nil
        case .any: .exists
        case .list(let generations): .generation(generations)
        }
    }

    /// The same for a policy or segment.
    static func revisionPrecondition(_ request: ServerRequest) throws(APIError) -> RevisionPrecondition? {
        switch try tags(request, revision) {
        case nil: nil
        case .any: .exists
        case .list(let revisions): .revisions(revisions)
        }
    }

    private enum Tags<Value> {
        case any
        case list([Value])
    }

    private static func tags<Value>(
        _ request: ServerRequest, _ read: (String) -> Value?
    ) throws(APIError) -> Tags<Value>? {
        guard let field = request.head[.ifMatch] else { return nil }
        let elements = field.listElements()
        if elements == ["*"] { return .any }
        let strong = elements.filter { !isWeak($0) }
        let values = strong.compactMap(read)
        guard !elements.isEmpty, values.count == strong.count else {
            throw .invalidParameters([
                .header("If-Match", "This must be * or the ETag of an earlier response, with its quotes.")
            ])
        }
        return .list(values)
    }

    private static func isWeak(_ tag: String) -> Bool {
        tag.hasPrefix("W/\"") && tag.count > 3 && tag.last == "\"" && !tag.dropFirst(3).dropLast().contains("\"")
    }

    private static func generation(_ tag: String) -> Int64? {
        quoted(tag).flatMap(number)
    }

    /// Any entity tag (RFC 9110, section 8.8.3): a tag that the service did not write never matches.
    private static func revision(_ tag: String) -> String? {
        quoted(tag).flatMap { $0.contains("\"") || $0.contains(" ") ? nil : String($0) }
    }

    private static func quoted(_ tag: String) -> Substring? {
        guard tag.count > 2, tag.first == "\"", tag.last == "\"" else { return nil }
        return tag.dropFirst().dropLast()
    }

    private static func number(_ digits: Substring) -> Int64? {
        digits.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int64(digits) : nil
    }
}
