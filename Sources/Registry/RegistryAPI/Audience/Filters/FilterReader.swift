import PushRegistry
import StrictJSON

/// Parses a filter from JSON. It adds a fault with its pointer for everything invalid and continues, so that the caller
/// sees all faults at once. It reads one filter.
final class FilterReader {
    let vocabulary: FilterVocabulary
    /// The values of `eq`, `ne`, `in` and `nin`, in order.
    var compared: [(ComparedValue, JSONValue)] = []
    private var authorization: JSONValue?

    init(vocabulary: FilterVocabulary) { self.vocabulary = vocabulary }

    /// Where the filter has what notes are about.
    var locations: FilterLocations {
        FilterLocations(
            authorization: authorization?.pointer,
            values: Array(zip(compared.map(\.0), JSONValue.pointers(to: compared.map(\.1)))))
    }

    /// The filter as it was sent. It is not simplified, so that parts that a simplification would drop are checked too.
    /// Meaningless if the document has a fault.
    func filter(_ value: JSONValue) -> AudienceFilter {
        let filter = filter(value, depth: 1)
        if filter.size.isTooLarge { value.refuse(.tooManyValues, AudienceFilter.sizeLimit + ".") }
        return filter
    }

    private func filter(_ value: JSONValue, depth: Int) -> AudienceFilter {
        guard value.kind != .null, let object = value.object() else { return .everybody }
        guard depth <= AudienceFilter.depthMax else {
            value.refuse(.tooDeep, "Filters may be nested at most \(AudienceFilter.depthMax) deep.")
            return .everybody
        }
        return .all(object.members.map { member($0.name, $0.value, depth) })
    }

    private func member(_ name: String, _ value: JSONValue, _ depth: Int) -> AudienceFilter {
        switch name {
        case "all": return .all(filters(value, depth))
        case "any": return .any(filters(value, depth))
        case "not": return .not(filter(value, depth: depth + 1))
        case "segment": return segment(value)
        default:
            guard let field = AudienceField(rawValue: name) else {
                let names = ["all", "any", "not", "segment"] + AudienceField.allCases.map(\.rawValue)
                value.refuse(.unknownMember, "No field has this name. " + NearestName.hint(for: name, among: names))
                return .everybody
            }
            if field == .authorizationStatus, authorization == nil { authorization = value }
            return ConditionReader(field: field, reader: self).condition(value)
        }
    }

    private func filters(_ value: JSONValue, _ depth: Int) -> [AudienceFilter] {
        guard value.kind != .null, let array = value.array(elementsMax: .max) else { return [] }
        return array.map { filter($0, depth: depth + 1) }
    }

    private func segment(_ value: JSONValue) -> AudienceFilter {
        value.parsedText(SegmentName.init).map { .segment(SegmentReference(name: $0, pointer: value.pointer)) }
            ?? .everybody
    }
}

/// JSON pointers into a filter.
struct FilterLocations: Sendable {
    /// The first condition on `authorizationStatus`.
    let authorization: String?
    let values: [(ComparedValue, String)]
}

extension AudienceFilter {
    /// For errors.
    static let sizeLimit = "A filter may have at most \(valuesMax) values and \(usersMax) user ids"
}

extension AudienceOperator {
    /// Nil for an operator that does not compare by order.
    var order: AudienceOrder? {
        switch self {
        case .gt: .greater
        case .gte: .greaterOrEqual
        case .lt: .less
        case .lte: .lessOrEqual
        default: nil
        }
    }
}

extension JSONFault.Code {
    /// The filter has too many values.
    static let tooManyValues = JSONFault.Code(rawValue: "too-wide")
    /// The field does not support the operator.
    static let operatorNotAllowed = JSONFault.Code(rawValue: "operator-not-allowed")
    /// A condition without an operator.
    static let emptyCondition = JSONFault.Code(rawValue: "empty-condition")
    static let unknownSegment = JSONFault.Code(rawValue: "unknown-segment")
    static let segmentCycle = JSONFault.Code(rawValue: "segment-cycle")
    static let unknownField = JSONFault.Code(rawValue: "unknown-field")
    static let unknownValue = JSONFault.Code(rawValue: "unknown-value")
    static let invalidCursor = JSONFault.Code(rawValue: "invalid-cursor")
}
