/// An API description (OpenAPI 3.1), parsed for tests that compare it with a service.
public struct OpenAPI: Sendable {
    public let root: JSON

    public init(parsing bytes: some Collection<UInt8>) throws {
        root = try JSON(parsing: bytes)
    }

    /// One method of one path.
    public struct Operation: Sendable, CustomStringConvertible {
        public let method: String
        /// With parameters in braces.
        public let path: String
        public let json: JSON

        public var id: String { json["operationId"].string ?? "" }
        public var description: String { "\(method) \(path)" }

        /// The sufficient roles of a key; nil if no credential is required.
        public var roles: Set<String>? {
            json.object["x-roles"].map { Set($0.array.compactMap(\.string)) }
        }

        /// Whether a credential of this scheme is accepted.
        public func accepts(_ scheme: String) -> Bool {
            json["security"].array.contains { $0.object.keys.contains(scheme) }
        }

        /// The status codes of the responses, with `default`.
        public var statuses: Set<String> { Set(json["responses"].object.keys) }
    }

    public var operations: [Operation] {
        root["paths"].object.flatMap { path, item in
            item.object.map { method, operation in
                Operation(method: method.uppercased(), path: path, json: operation)
            }
        }.sorted { ($0.path, $0.method) < ($1.path, $1.method) }
    }

    public func operation(_ id: String) -> Operation? { operations.first { $0.id == id } }

    public func parameters(of operation: Operation) -> [JSON] {
        operation.json["parameters"].array.map(resolved)
    }

    /// The response for a status, or the default one.
    public func response(of operation: Operation, status: Int) -> JSON {
        let responses = operation.json["responses"].object
        return resolved(responses["\(status)"] ?? responses["default"] ?? .null)
    }

    /// The examples of a media type: `example`, or the values of `examples`.
    public func examples(of media: JSON) -> [JSON] {
        if let example = media.object["example"] { return [example] }
        return media["examples"].object.sorted { $0.key < $1.key }.map { resolved($0.value)["value"] }
    }

    /// The value, with a reference resolved.
    public func resolved(_ value: JSON) -> JSON {
        value["$ref"].string.map { self[pointer: $0] } ?? value
    }

    /// The target of a reference (`#/components/…`); `.null` if it does not exist.
    public subscript(pointer reference: String) -> JSON {
        guard reference.hasPrefix("#/") else { return .null }
        return reference.dropFirst(2).split(separator: "/").reduce(root) { value, name in value[String(name)] }
    }
}
