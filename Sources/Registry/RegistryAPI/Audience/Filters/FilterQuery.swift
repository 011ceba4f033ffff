import HTTPApplication
import HTTPWire
import PushRegistry
import StrictJSON

/// A flat filter in a query (fine print 36): `locale=de_DE&osVersion.gte=17.2&carrier.in=A,B&include=active`. `kind`
/// and `name` of typed tokens stand beside it.
///
/// All conditions must be true. A repeated parameter is a list. Commas separate values only in `.in`, `.nin` and
/// `.between`.
struct FilterQuery {
    /// The names of parameters that are members of a body, beside its filter.
    private static let members = ["include", "kind", "name", "asOf"]

    /// The same as a body: `{"filter": {"all": [a filter for each name]}, "include": …}`. Its option is `asOf`.
    let body: AudienceBody<CalendarDay?>
    private let names: [String]

    /// - Throws: `APIError.invalidParameters` with every fault. An unknown parameter is a fault.
    init(_ request: ServerRequest, in vocabulary: FilterVocabulary) throws {
        var (names, values): ([String], [String: [String]]) = ([], [:])
        for item in try request.head.queryItems() {
            if values[item.name] == nil { names.append(item.name) }
            values[item.name, default: []].append(item.value)
        }
        var faults: [ParameterFault] = []
        let filters = names.map { name in
            do throws(ParameterFault) {
                return try Self.filter(name, values[name] ?? [])
            } catch {
                faults.append(error)
                return "{}"
            }
        }
        let members = Self.members.compactMap { name in
            values[name].map { #","\#(name)":\#(Self.json($0.joined(separator: ",")))"# }
        }
        do {
            let text = #"{"filter":{"all":[\#(filters.joined(separator: ","))]}\#(members.joined())}"#
            body = try AudienceBody.parse(Array(text.utf8), in: vocabulary, members: ["kind", "name", "asOf"]) {
                $0.asOf()
            }
        } catch let error as JSONFaults {
            throw APIError.invalidParameters(
                faults
                    + error.faults.map {
                        .query(Self.parameter(at: $0.pointer, among: names) ?? "", $0.code.rawValue, $0.detail)
                    })
        }
        guard faults.isEmpty else { throw APIError.invalidParameters(faults) }
        self.names = names
    }

    /// The parameter from which a part of the body comes; nil for the whole filter.
    func parameter(at pointer: String) -> String? { Self.parameter(at: pointer, among: names) }

    private static func parameter(at pointer: String, among names: [String]) -> String? {
        if members.contains(String(pointer.dropFirst())) { return String(pointer.dropFirst()) }
        return pointer.prefixMatch(of: /\/filter\/all\/([0-9]+)/).flatMap { Int($0.1) }.map { names[$0] }
    }

    /// The filter of a parameter, as JSON.
    private static func filter(_ name: String, _ values: [String]) throws(ParameterFault) -> String {
        if members.contains(name) { return "{}" }
        if name == "segment" {
            return #"{"all":[\#(values.map { #"{"segment":\#(json($0))}"# }.joined(separator: ","))]}"#
        }
        let parts = name.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard let field = AudienceField(rawValue: String(parts[0])),
            let comparison = parts.count == 1 ? .eq : AudienceOperator(rawValue: String(parts[1])),
            comparison != .near
        else { throw .query(name, "unknown-parameter", hint(for: name)) }
        guard field != .userID || comparison == .exists else { throw .query(name, "unknown-parameter", byPost) }
        func list(_ values: [String]) -> String {
            "[\(values.map { json($0, field.kind) }.joined(separator: ","))]"
        }
        let operand: String
        switch comparison {
        case .eq, .ne: operand = list(values)
        case .in, .nin: operand = list(values.flatMap(elements))
        case .gt, .gte, .lt, .lte, .exists, .within, .between, .near:
            guard let value = values.first, values.count == 1 else {
                throw .query(name, "invalid-parameter", "This parameter may occur only once.")
            }
            guard comparison == .between else {
                operand = json(value, comparison == .exists ? .flag : field.kind)
                break
            }
            guard elements(value).count == 2 else {
                throw .query(name, "invalid-local-time", "This must be two times of day, such as 09:00,21:00.")
            }
            operand = list(elements(value))
        }
        let reader: [AudienceOperator: AudienceOperator] = [.eq: .in, .ne: .nin]
        return #"{"\#(field.rawValue)":{"\#((reader[comparison] ?? comparison).rawValue)":\#(operand)}}"#
    }

    /// Proxies log queries, and limit their length.
    private static let byPost = """
        A query does not compare with user ids: POST /v1/apps/{app}/audience/count takes \
        {"filter": {"userId": {"in": ["alice"]}}}.
        """

    private static func hint(for name: String) -> String {
        let names = members + ["segment"] + AudienceField.allCases.map(\.rawValue)
        let field = name.prefix { $0 != "." }
        if let field = AudienceField(rawValue: String(field)) {
            return "No operator has this name in a query. " + field.supportedOperators
        }
        return "No parameter has this name. " + NearestName.hint(for: String(field), among: names)
    }

    private static func elements(_ text: String) -> [String] {
        text.isEmpty ? [] : text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    }

    /// A value in the JSON type of its field. A text that is no offset becomes one that is out of range.
    private static func json(_ text: String, _ kind: AudienceField.Kind = .text) -> String {
        var writer = JSONWriter()
        switch kind {
        case .flag where Bool(text) != nil: return text
        case .offset: writer.integer(Int64(text) ?? .max)
        default: writer.string(text)
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
