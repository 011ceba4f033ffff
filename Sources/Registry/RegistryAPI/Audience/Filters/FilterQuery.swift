import HTTPApplication
import HTTPWire
import PushRegistry

/// A flat filter in a query (fine print 36): `locale=de_DE&osVersion.gte=17.2&carrier.in=A,B&include=active`.
///
/// All conditions must be true. A repeated parameter is a list. Commas separate values only in `.in`, `.nin` and
/// `.between`.
struct FilterQuery {
    private(set) var filter = AudienceFilter.everybody
    private(set) var include = AudienceInclude.reachable
    /// Whether the query has `include`.
    private(set) var hasInclude = false

    private let vocabulary: FilterVocabulary
    private var faults: [ParameterFault] = []

    /// - Throws: `APIError.invalidParameters` with every fault. An unknown parameter is a fault.
    init(_ request: ServerRequest, in vocabulary: FilterVocabulary) throws {
        self.vocabulary = vocabulary
        var names: [String] = []
        var values: [String: [String]] = [:]
        for item in try request.head.queryItems() {
            if values[item.name] == nil { names.append(item.name) }
            values[item.name, default: []].append(item.value)
        }
        filter = .all(names.map { parameter($0, values[$0] ?? []) })
        if filter.valueCount > AudienceFilter.valuesMax {
            let detail = "A filter may have at most \(AudienceFilter.valuesMax) values."
            faults.append(ParameterFault(parameter: "", code: "too-wide", detail: detail))
        }
        guard faults.isEmpty else { throw APIError.invalidParameters(faults) }
    }

    private mutating func parameter(_ name: String, _ values: [String]) -> AudienceFilter {
        switch name {
        case "include": return include(values)
        case "segment": return .all(values.map { segment($0) })
        default:
            let parts = name.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
            guard let field = AudienceField(rawValue: String(parts[0])),
                let comparison = parts.count == 1 ? .eq : AudienceOperator(rawValue: String(parts[1])),
                comparison != .near
            else { return refuse(name, "unknown-parameter", hint(for: name)) }
            guard field.operators.contains(comparison) else {
                return refuse(name, "operator-not-allowed", field.supportedOperators)
            }
            return condition(field, comparison, name, values)
        }
    }

    private func hint(for name: String) -> String {
        let names = ["include", "segment"] + AudienceField.allCases.map(\.rawValue)
        let field = name.prefix { $0 != "." }
        if let field = AudienceField(rawValue: String(field)) {
            return "No operator has this name in a query. " + field.supportedOperators
        }
        return "No parameter has this name. " + NearestName.hint(for: String(field), among: names)
    }

    private mutating func include(_ values: [String]) -> AudienceFilter {
        guard values.count == 1, let include = AudienceInclude(rawValue: values[0]) else {
            return refuse("include", "unknown-value", AudienceInclude.expected)
        }
        self.include = include
        hasInclude = true
        return .everybody
    }

    private mutating func segment(_ text: String) -> AudienceFilter {
        parsed("segment") { () throws(InvalidValue) in
            .segment(SegmentReference(name: try SegmentName(text), pointer: "segment"))
        } ?? .everybody
    }

    private mutating func condition(
        _ field: AudienceField, _ comparison: AudienceOperator, _ name: String, _ values: [String]
    ) -> AudienceFilter {
        switch comparison {
        case .eq: return .condition(field, .oneOf(list(field, name, values)))
        case .ne: return .not(.condition(field, .oneOf(list(field, name, values))))
        case .in: return .condition(field, .oneOf(list(field, name, values.flatMap(Self.elements))))
        case .nin: return .not(.condition(field, .oneOf(list(field, name, values.flatMap(Self.elements)))))
        case .near: return .everybody
        case .gt, .gte, .lt, .lte, .exists, .within, .between:
            guard values.count == 1 else {
                return refuse(name, "invalid-parameter", "This parameter may occur only once.")
            }
            return single(field, comparison, name, values[0])
        }
    }

    private mutating func single(
        _ field: AudienceField, _ comparison: AudienceOperator, _ name: String, _ text: String
    ) -> AudienceFilter {
        let vocabulary = vocabulary
        return parsed(name) { () throws(InvalidValue) in
            switch comparison {
            case .exists:
                let condition = AudienceFilter.condition(field, .exists)
                return try AudienceField.flag(text) ? condition : .not(condition)
            case .within: return .condition(field, .within(try ISO8601Duration(text)))
            case .between:
                let bounds = Self.elements(text)
                guard bounds.count == 2 else {
                    throw InvalidValue(
                        code: "invalid-local-time", detail: "This must be two times of day, such as 09:00,21:00.")
                }
                return .condition(field, .between(try LocalTimeRange(LocalTime(bounds[0]), LocalTime(bounds[1]))))
            default:
                guard let order = comparison.order else { return .everybody }
                return .condition(field, .ordered(order, try field.value(text, in: vocabulary)))
            }
        } ?? .everybody
    }

    static func elements(_ text: String) -> [String] {
        text.isEmpty ? [] : text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    }

    private mutating func list(_ field: AudienceField, _ name: String, _ texts: [String]) -> [AudienceValue] {
        let vocabulary = vocabulary
        return texts.compactMap { text in
            parsed(name) { () throws(InvalidValue) in
                guard text.unicodeScalars.count <= Device.textScalarsMax else {
                    throw InvalidValue(
                        code: "too-long", detail: "At most \(Device.textScalarsMax) characters are allowed.")
                }
                return try field.value(text, in: vocabulary)
            }
        }
    }

    /// The parsed value; nil after a fault.
    private mutating func parsed<Value>(_ name: String, _ parse: () throws(InvalidValue) -> Value) -> Value? {
        faults.parsed(parse, orAdd: { .query(name, $0.code, $0.detail) })
    }

    private mutating func refuse(_ name: String, _ code: String, _ detail: String) -> AudienceFilter {
        faults.append(.query(name, code, detail))
        return .everybody
    }
}
