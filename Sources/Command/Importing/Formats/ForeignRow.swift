import PushRegistry
import StrictJSON

/// A row of another system's export, read by paths. A text, a number or a flag is its text; of an array the first
/// element counts.
enum ForeignRow {
    case json(JSONObject)
    case table(CSVRow)
    case elements(XMLElements)
    /// Rows by the first name of a path: for an object that has several installations and values that they share.
    case scopes([(name: [UInt8], row: ForeignRow)])
    /// Values that a format has derived.
    case named([String: String])

    /// - Parameter rows: a nil row has no values.
    static func scoped(_ rows: KeyValuePairs<String, ForeignRow?>) -> ForeignRow {
        .scopes(rows.compactMap { name, row in row.map { (Array(name.utf8), $0) } })
    }

    /// Nil for a text that is no JSON object.
    init?(json text: String) {
        guard let document = try? JSONDocument(Array(text.utf8)), let object = document.root.object() else {
            return nil
        }
        self = .json(object)
    }

    func text(_ path: FieldPath) -> String? { text(path.members[...], path) }

    func texts(_ path: FieldPath) -> [String] {
        switch self {
        case .json(let object): object.value(at: path.members[...])?.texts ?? []
        case .table(let row): row.texts(path)
        case .elements, .named: text(path).map { [$0] } ?? []
        case .scopes: scope(path.members[...]).map { $0.row.texts(in: $0.rest) } ?? []
        }
    }

    /// The JSON text of a value: of a member that is JSON itself, or of a text that has it.
    func json(_ path: FieldPath) -> String? {
        guard case .json(let object) = self, let value = object.value(at: path.members[...]), value.kind == .object
        else { return text(path) }
        return String(decoding: value.rawBytes, as: UTF8.self)
    }

    /// The objects of an array.
    func rows(_ path: FieldPath) -> [ForeignRow] {
        guard case .json(let object) = self, let value = object.value(at: path.members[...]) else { return [] }
        return value.objects.map { .json($0) }
    }

    func isEmptyList(_ path: FieldPath) -> Bool {
        guard case .json(let object) = self, let value = object.value(at: path.members[...]) else { return false }
        return value.kind == .array && value.elements.isEmpty
    }

    func has(_ path: FieldPath) -> Bool {
        switch self {
        case .json(let object): object.value(at: path.members[...]) != nil
        case .table(let row): row.has(path)
        case .elements(let elements): elements[path.text] != nil
        case .scopes, .named: text(path) != nil
        }
    }

    private func text(_ members: ArraySlice<[UInt8]>, _ path: FieldPath) -> String? {
        switch self {
        case .json(let object): object.value(at: members)?.scalar
        case .table(let row): row.text(path)
        case .elements(let elements): members.first.flatMap { elements[String(decoding: $0, as: UTF8.self)] }
        case .scopes: scope(members).flatMap { $0.row.text($0.rest, path) }
        case .named(let values): members.first.flatMap { values[String(decoding: $0, as: UTF8.self)] }
        }
    }

    private func texts(in members: ArraySlice<[UInt8]>) -> [String] {
        guard case .json(let object) = self else { return [] }
        return object.value(at: members)?.texts ?? []
    }

    private func scope(_ members: ArraySlice<[UInt8]>) -> (row: ForeignRow, rest: ArraySlice<[UInt8]>)? {
        guard case .scopes(let scopes) = self, let first = members.first,
            let found = scopes.first(where: { $0.name == first })
        else { return nil }
        return (found.row, members.dropFirst())
    }
}

extension JSONObject {
    /// The value of a nested member; nil if it or one of the objects around it is absent or null.
    fileprivate func value(at members: ArraySlice<[UInt8]>) -> JSONValue? {
        guard let name = members.first, let value = value(named: name), value.kind != .null else { return nil }
        if members.count == 1 { return value }
        return value.nested?.value(at: members.dropFirst())
    }
}

extension JSONValue {
    /// An object, or the one whose JSON is the text.
    fileprivate var nested: JSONObject? {
        switch kind {
        case .object: return object()
        case .string:
            let root = string(scalarsMax: .max).flatMap { try? JSONDocument(Array($0.utf8)).root }
            return root?.kind == .object ? root?.object() : nil
        case .number, .boolean, .array, .null: return nil
        }
    }

    /// MongoDB's extended JSON has dates, identifiers and long numbers as objects of one member.
    private static let wrappers: Set<String> = [
        "$date", "$oid", "$numberLong", "$numberInt", "$numberDouble", "$numberDecimal",
    ]

    /// Nil for other objects, for an empty array, and for null.
    fileprivate var scalar: String? {
        switch kind {
        case .string: string(scalarsMax: .max)
        case .number, .boolean: String(decoding: rawBytes, as: UTF8.self)
        case .array: elements.lazy.compactMap(\.scalar).first
        case .object: wrapped?.scalar
        case .null: nil
        }
    }

    fileprivate var texts: [String] {
        kind == .array ? elements.compactMap(\.scalar) : scalar.map { [$0] } ?? []
    }

    fileprivate var objects: [JSONObject] {
        kind == .array ? elements.compactMap { $0.kind == .object ? $0.object() : nil } : []
    }

    fileprivate var elements: [JSONValue] { array(elementsMax: .max).map { Array($0) } ?? [] }

    private var wrapped: JSONValue? {
        guard let members = object()?.members, members.count == 1, Self.wrappers.contains(members[0].name) else {
            return nil
        }
        return members[0].value
    }
}
