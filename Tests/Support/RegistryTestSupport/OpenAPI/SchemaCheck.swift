/// Validates values by schemas: the part of JSON Schema 2020-12 that the API's description uses.
///
/// It is stricter than the standard in two ways. An unknown keyword is a fault, so that no constraint is left
/// unchecked. All members of an object must be declared, unless `additionalProperties` says otherwise: a member
/// that the service sends and the description lacks is a fault of the description.
public struct SchemaCheck: Sendable {
    private let document: OpenAPI

    public init(_ document: OpenAPI) {
        self.document = document
    }

    /// The faults of a value, each with its pointer; empty if the value is valid.
    public func faults(_ value: JSON, _ schema: JSON, at place: String = "") -> [String] {
        undeclared(value, schema, place) + constraints(value, schema, place)
    }

    private func constraints(_ value: JSON, _ schema: JSON, _ place: String) -> [String] {
        schema.object.flatMap { keyword, argument in
            let faults = check(keyword, argument, value, schema, place)
            return faults.map { fault in fault.hasPrefix("/") || fault.hasPrefix(":") ? fault : "\(place): \(fault)" }
        }
    }

    private func check(
        _ keyword: String, _ argument: JSON, _ value: JSON, _ schema: JSON, _ place: String
    ) -> [String] {
        switch (keyword, value) {
        case ("title", _), ("description", _), ("default", _), ("examples", _): return []
        case ("$ref", _):
            guard let name = argument.string, document[pointer: name] != .null else {
                return ["\(argument) leads nowhere"]
            }
            return constraints(value, document[pointer: name], place)
        case ("type", _):
            let types = argument.string.map { [$0] } ?? argument.array.compactMap(\.string)
            return types.contains { value.isOf(type: $0) } ? [] : ["is none of \(types)"]
        case ("enum", _): return argument.array.contains(value) ? [] : ["is not among \(argument.text)"]
        case ("anyOf", _):
            let options = argument.array.map { faults(value, $0, at: place) }
            return options.contains([]) ? [] : ["fits none of \(options)"]
        case ("properties", .object(let members)):
            return argument.object.flatMap { name, schema in
                members[name].map { faults($0, schema, at: "\(place)/\(name)") } ?? []
            }
        case ("required", .object(let members)):
            return argument.array.compactMap(\.string).filter { members[$0] == nil }.map { "lacks \($0)" }
        case ("additionalProperties", .object(let members)):
            let others = members.filter { schema["properties"].object[$0.key] == nil }
            return others.flatMap { name, member in additional(argument, member, "\(place)/\(name)") }
        case ("propertyNames", .object(let members)):
            return members.keys.flatMap { faults(.string($0), argument, at: "\(place)/\($0)") }
        case ("items", .array(let elements)):
            return elements.enumerated().flatMap { faults($1, argument, at: "\(place)/\($0)") }
        case ("uniqueItems", .array(let elements)):
            return Set(elements).count == elements.count ? [] : ["repeats an element"]
        default: return bound(keyword, argument, value)
        }
    }

    private func additional(_ argument: JSON, _ member: JSON, _ place: String) -> [String] {
        switch argument {
        case .boolean(true): []
        case .boolean(false): ["\(place): is not declared"]
        default: faults(member, argument, at: place)
        }
    }

    /// Keywords about sizes and formats, which do not apply to values of other types.
    private func bound(_ keyword: String, _ argument: JSON, _ value: JSON) -> [String] {
        let limit = argument.double ?? 0
        let fits =
            switch (keyword, value) {
            case ("minItems", .array(let elements)): Double(elements.count) >= limit
            case ("maxItems", .array(let elements)): Double(elements.count) <= limit
            case ("minProperties", .object(let members)): Double(members.count) >= limit
            case ("maxProperties", .object(let members)): Double(members.count) <= limit
            case ("minLength", .string(let text)): Double(text.unicodeScalars.count) >= limit
            case ("maxLength", .string(let text)): Double(text.unicodeScalars.count) <= limit
            case ("pattern", .string(let text)): Self.matches(text, argument.string ?? "")
            case ("format", .string(let text)):
                Self.formats[argument.string ?? ""].map { Self.matches(text, $0) } ?? false
            case ("minimum", _): value.double.map { $0 >= limit } ?? true
            case ("maximum", _): value.double.map { $0 <= limit } ?? true
            case ("exclusiveMinimum", _): value.double.map { $0 > limit } ?? true
            default: Self.keywords.contains(keyword)
            }
        return fits ? [] : ["does not fit \(keyword) \(argument.text)"]
    }

    private static let keywords: Set = [
        "properties", "required", "additionalProperties", "propertyNames", "items", "uniqueItems", "minItems",
        "maxItems", "minProperties", "maxProperties", "minLength", "maxLength", "pattern", "format",
    ]

    /// The pattern of each format of strings; `int64` is a format of numbers.
    private static let formats = [
        "date-time": #"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$"#, "date": #"^\d{4}-\d\d-\d\d$"#,
        "duration": "^P(?=.)", "uuid": "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$",
        "uri-reference": "^([a-z]+:|/)",
    ]

    private static func matches(_ text: String, _ pattern: String) -> Bool {
        guard let pattern = try? Regex(pattern) else { return false }
        return text.contains(pattern)
    }
}

// MARK: - Undeclared members

extension SchemaCheck {
    private func undeclared(_ value: JSON, _ schema: JSON, _ place: String) -> [String] {
        guard case .object(let members) = value, let declared = declared(schema) else { return [] }
        return members.keys.filter { !declared.contains($0) }.map { "\(place)/\($0): is not declared" }
    }

    /// The names that a schema and its reference declare; nil if other names are allowed.
    private func declared(_ schema: JSON) -> Set<String>? {
        guard schema.object["additionalProperties"] == nil, schema.object["anyOf"] == nil else { return nil }
        let own = Set(schema["properties"].object.keys)
        guard let name = schema["$ref"].string else { return schema.object["properties"] == nil ? nil : own }
        return declared(document[pointer: name])?.union(own)
    }
}

extension JSON {
    fileprivate func isOf(type: String) -> Bool {
        switch (type, self) {
        case ("null", .null), ("boolean", .boolean), ("integer", .integer), ("number", .integer), ("number", .number),
            ("string", .string), ("array", .array), ("object", .object):
            true
        default: false
        }
    }

    fileprivate var double: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .number(let value): value
        default: nil
        }
    }
}
