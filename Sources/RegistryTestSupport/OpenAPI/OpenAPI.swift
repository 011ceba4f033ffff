/// A description of an API (OpenAPI 3.1), read for what tests hold a service to.
public struct OpenAPI: Sendable {
    public let root: JSON

    public init(parsing bytes: some Collection<UInt8>) throws {
        root = try JSON(parsing: bytes)
    }

    /// One method of one path.
    public struct Operation: Sendable, CustomStringConvertible {
        public let method: String
        /// With names in braces.
        public let path: String
        public let json: JSON

        public var id: String { json["operationId"].string ?? "" }
        public var description: String { "\(method) \(path)" }

        /// The roles of a key that suffice; nil where no credential is asked for.
        public var roles: Set<String>? {
            json.object["x-roles"].map { Set($0.array.compactMap(\.string)) }
        }

        /// Whether a credential of this scheme is accepted.
        public func accepts(_ scheme: String) -> Bool {
            json["security"].array.contains { $0.object.keys.contains(scheme) }
        }

        /// The codes of the responses, `default` being one.
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

    /// The response for a status, or the one for every other.
    public func response(of operation: Operation, status: Int) -> JSON {
        let responses = operation.json["responses"].object
        return resolved(responses["\(status)"] ?? responses["default"] ?? .null)
    }

    /// What a media type shows: `example`, or the values of `examples`.
    public func examples(of media: JSON) -> [JSON] {
        if let example = media.object["example"] { return [example] }
        return media["examples"].object.sorted { $0.key < $1.key }.map { resolved($0.value)["value"] }
    }

    /// The value, or what it refers to.
    public func resolved(_ value: JSON) -> JSON {
        value["$ref"].string.map { self[pointer: $0] } ?? value
    }

    /// What a reference names (`#/components/…`); `.null` if there is nothing.
    public subscript(pointer reference: String) -> JSON {
        guard reference.hasPrefix("#/") else { return .null }
        return reference.dropFirst(2).split(separator: "/").reduce(root) { value, name in value[String(name)] }
    }
}
