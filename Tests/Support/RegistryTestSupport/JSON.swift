import Foundation

/// A JSON value for writing bodies and reading responses: `body["device"]["locale"] = "de_DE"`.
///
/// A missing member reads as `.null`, so that an expectation fails and the test does not crash.
public enum JSON: Hashable, Sendable {
    case null
    case boolean(Bool)
    case integer(Int64)
    case number(Double)
    case string(String)
    case array([JSON])
    case object([String: JSON])

    /// - Throws: `DecodingError` for invalid JSON.
    public init(parsing bytes: some Collection<UInt8>) throws {
        self = try JSONDecoder().decode(JSON.self, from: Data(bytes))
    }

    /// The JSON text, with members in alphabetical order.
    public var text: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(self) else { preconditionFailure("not a finite number") }
        return String(decoding: data, as: UTF8.self)
    }
}

// MARK: - Reading

extension JSON {
    public var string: String? { if case .string(let text) = self { text } else { nil } }

    public var integer: Int64? { if case .integer(let value) = self { value } else { nil } }

    public var array: [JSON] { if case .array(let elements) = self { elements } else { [] } }

    public var object: [String: JSON] { if case .object(let members) = self { members } else { [:] } }

    /// A member. Setting a member turns another value into an object.
    public subscript(name: String) -> JSON {
        get { object[name] ?? .null }
        set { self = .object(object.merging([name: newValue]) { $1 }) }
    }

    public subscript(index: Int) -> JSON {
        array.indices.contains(index) ? array[index] : .null
    }

    /// The value without a member.
    public func without(_ name: String) -> JSON {
        .object(object.filter { $0.key != name })
    }
}

// MARK: - Literals

extension JSON: ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral, ExpressibleByNilLiteral
{
    public init(stringLiteral text: String) { self = .string(text) }
    public init(integerLiteral value: Int64) { self = .integer(value) }
    public init(floatLiteral value: Double) { self = .number(value) }
    public init(booleanLiteral value: Bool) { self = .boolean(value) }
    public init(arrayLiteral elements: JSON...) { self = .array(elements) }
    public init(nilLiteral: ()) { self = .null }

    public init(dictionaryLiteral members: (String, JSON)...) {
        self = .object(Dictionary(members) { $1 })
    }
}

// MARK: - Codable

extension JSON: Codable {
    private struct Name: CodingKey {
        let stringValue: String
        let intValue: Int? = nil

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    public init(from decoder: any Decoder) throws {
        if let members = try? decoder.container(keyedBy: Name.self) {
            var object: [String: JSON] = [:]
            for name in members.allKeys { object[name.stringValue] = try members.decode(JSON.self, forKey: name) }
            self = .object(object)
        } else if var elements = try? decoder.unkeyedContainer() {
            var array: [JSON] = []
            while !elements.isAtEnd { array.append(try elements.decode(JSON.self)) }
            self = .array(array)
        } else {
            self = try JSON(scalar: decoder.singleValueContainer())
        }
    }

    private init(scalar container: any SingleValueDecodingContainer) throws {
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .boolean(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else {
            self = .string(try container.decode(String.self))
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .boolean(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .string(let text): try container.encode(text)
        case .array(let elements): try container.encode(elements)
        case .object(let members): try container.encode(members)
        }
    }
}
