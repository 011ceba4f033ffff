import Foundation

extension PushRegistryClient {
    /// Any JSON value: the payload of a notification.
    public enum JSON: Sendable, Hashable, Codable {
        case null
        case boolean(Bool)
        case integer(Int64)
        case number(Double)
        case string(String)
        case array([JSON])
        case object([String: JSON])

        public init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if container.decodeNil() {
                self = .null
            } else if let value = try? container.decode(Bool.self) {
                self = .boolean(value)
            } else if let value = try? container.decode(Int64.self) {
                self = .integer(value)
            } else if let value = try? container.decode(Double.self) {
                self = .number(value)
            } else if let value = try? container.decode(String.self) {
                self = .string(value)
            } else if let value = try? container.decode([JSON].self) {
                self = .array(value)
            } else {
                self = .object(try container.decode([String: JSON].self))
            }
        }

        public func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .null: try container.encodeNil()
            case .boolean(let value): try container.encode(value)
            case .integer(let value): try container.encode(value)
            case .number(let value): try container.encode(value)
            case .string(let value): try container.encode(value)
            case .array(let value): try container.encode(value)
            case .object(let value): try container.encode(value)
            }
        }

        /// The value as another type.
        public func decoded<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value {
            try JSONDecoder().decode(type, from: JSONEncoder().encode(self))
        }

        /// A member of an object, or nil.
        public subscript(name: String) -> JSON? {
            if case .object(let members) = self { members[name] } else { nil }
        }
    }
}

extension PushRegistryClient.JSON: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    public init(stringLiteral text: String) { self = .string(text) }
    public init(integerLiteral value: Int64) { self = .integer(value) }
    public init(floatLiteral value: Double) { self = .number(value) }
    public init(booleanLiteral value: Bool) { self = .boolean(value) }
    public init(arrayLiteral elements: Self...) { self = .array(elements) }

    public init(dictionaryLiteral members: (String, Self)...) {
        self = .object(Dictionary(members) { $1 })
    }
}
