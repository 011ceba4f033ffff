import PushRegistry
import StrictJSON

/// Reads a filter from JSON. What does not fit is a fault of the document, with its pointer; reading goes on, so that a
/// sender learns of everything at once.
struct FilterReader {
    let links: TimeZoneLinks

    /// The filter at a value as it was sent, nothing simplified: what a simplification would drop is checked like the
    /// rest. Of no meaning once the document has a fault.
    func filter(_ value: JSONValue) -> AudienceFilter {
        let filter = filter(value, depth: 1)
        if filter.width > AudienceFilter.widthMax {
            value.refuse(.tooWide, "A filter has at most \(AudienceFilter.widthMax) values.")
        }
        return filter
    }

    private func filter(_ value: JSONValue, depth: Int) -> AudienceFilter {
        guard value.kind != .null, let object = value.object() else { return .everybody }
        guard depth <= AudienceFilter.depthMax else {
            value.refuse(.tooDeep, "Filters nest at most \(AudienceFilter.depthMax) deep.")
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
            return ConditionReader(field: field, links: links).condition(value)
        }
    }

    private func filters(_ value: JSONValue, _ depth: Int) -> [AudienceFilter] {
        guard value.kind != .null, let array = value.array(elementsMax: .max) else { return [] }
        return array.map { filter($0, depth: depth + 1) }
    }

    private func segment(_ value: JSONValue) -> AudienceFilter {
        guard let text = value.text() else { return .everybody }
        do throws(InvalidValue) {
            return .segment(SegmentReference(name: try SegmentName(text), place: value.pointer))
        } catch {
            value.refuse(error)
            return .everybody
        }
    }
}

extension AudienceOperator {
    /// How the operator compares, if it does.
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

extension JSONValue {
    /// A string; nil where a fault was added, or was known before: of a `null` the document has told already.
    func text() -> String? {
        kind == .null ? nil : string(scalarsMax: Device.textScalarsMax)
    }

    func refuse(_ reason: InvalidValue) {
        refuse(JSONFault.Code(rawValue: reason.code), reason.detail)
    }
}

extension JSONFault.Code {
    /// A filter of more values than one may have.
    static let tooWide = JSONFault.Code(rawValue: "too-wide")
    /// A field that cannot be asked this.
    static let operatorNotAllowed = JSONFault.Code(rawValue: "operator-not-allowed")
    /// A condition without an operator.
    static let emptyCondition = JSONFault.Code(rawValue: "empty-condition")
    static let unknownSegment = JSONFault.Code(rawValue: "unknown-segment")
    static let segmentCycle = JSONFault.Code(rawValue: "segment-cycle")
    static let unknownField = JSONFault.Code(rawValue: "unknown-field")
    static let unknownValue = JSONFault.Code(rawValue: "unknown-value")
    static let invalidCursor = JSONFault.Code(rawValue: "invalid-cursor")
}
