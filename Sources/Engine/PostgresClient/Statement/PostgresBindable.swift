/// A value for a placeholder of a statement. It is sent in binary form with the type given here, so that PostgreSQL
/// never infers a type.
public protocol PostgresBindable {
    /// Sent with every value, NULL included.
    static var postgresType: PostgresType { get }

    /// Appends the value's length and its binary form, or NULL: `PostgresBuffer.appendField`, `appendNull`.
    func encodeField(into buffer: inout PostgresBuffer)
}

/// A value that can be an element of a one-dimensional array.
public protocol PostgresArrayElement: PostgresBindable {
    /// The type of an array of these values.
    static var postgresArrayType: PostgresType { get }
    /// Whether an element may be NULL.
    static var isNullable: Bool { get }

    /// Appends the elements of an array. The default appends them one by one.
    static func encodeFields(_ elements: [Self], into buffer: inout PostgresBuffer)

    /// Appends the field of a whole array. The default writes the binary form of an SQL array.
    static func encodeArray(_ elements: [Self], into buffer: inout PostgresBuffer)
}

extension PostgresArrayElement {
    /// No element is NULL, unless the type is optional.
    @inlinable
    public static var isNullable: Bool { false }

    /// One by one; a type of fixed width can do better.
    @inlinable
    public static func encodeFields(_ elements: [Self], into buffer: inout PostgresBuffer) {
        for element in elements { element.encodeField(into: &buffer) }
    }

    /// The format that `array_recv` reads: number of dimensions, whether there may be NULLs, element type, for each
    /// dimension its length and lower bound, then the fields. An empty array has no dimension.
    @inlinable
    public static func encodeArray(_ elements: [Self], into buffer: inout PostgresBuffer) {
        buffer.appendField { buffer in
            buffer.append(Int32(elements.isEmpty ? 0 : 1))
            buffer.append(Int32(isNullable ? 1 : 0))
            buffer.append(postgresType.rawValue)
            guard !elements.isEmpty else { return }
            buffer.append(Int32(elements.count))
            buffer.append(Int32(1))
            encodeFields(elements, into: &buffer)
        }
    }
}

extension Optional: PostgresBindable where Wrapped: PostgresBindable {
    @inlinable
    public static var postgresType: PostgresType { Wrapped.postgresType }

    /// NULL for nil.
    @inlinable
    public func encodeField(into buffer: inout PostgresBuffer) {
        if let self { self.encodeField(into: &buffer) } else { buffer.appendNull() }
    }
}

extension Optional: PostgresArrayElement where Wrapped: PostgresArrayElement {
    @inlinable
    public static var postgresArrayType: PostgresType { Wrapped.postgresArrayType }

    /// Nil is NULL.
    @inlinable
    public static var isNullable: Bool { true }
}

extension Array: PostgresBindable where Element: PostgresArrayElement {
    @inlinable
    public static var postgresType: PostgresType { Element.postgresArrayType }

    /// A one-dimensional array, or a `bytea` for bytes.
    @inlinable
    public func encodeField(into buffer: inout PostgresBuffer) {
        Element.encodeArray(self, into: &buffer)
    }
}

/// The values of a statement, from `$1` on, in encoded form.
public struct PostgresBinds: Sendable {
    struct Parameter: Sendable {
        let type: PostgresType
        /// The offset of the field in the buffer: its length, then its bytes.
        var offset: Int
    }

    @usableFromInline var buffer = PostgresBuffer()
    private(set) var parameters: [Parameter] = []

    @usableFromInline
    init() {}

    /// The number of values, and of the last placeholder.
    public var count: Int { parameters.count }

    /// Keeps the memory for the values of the next row.
    mutating func removeAll() {
        buffer.removeAll()
        parameters.removeAll(keepingCapacity: true)
    }

    /// Binds the next placeholder: `$1` at the first call.
    @inlinable
    public mutating func bind<Value: PostgresBindable>(_ value: Value) {
        beginParameter(Value.postgresType)
        value.encodeField(into: &buffer)
    }

    @usableFromInline
    mutating func beginParameter(_ type: PostgresType) {
        parameters.append(Parameter(type: type, offset: buffer.bytes.count))
    }

    /// Appends the values of `other` after these.
    mutating func append(_ other: PostgresBinds) {
        let shift = buffer.bytes.count
        buffer.append(contentsOf: other.buffer.bytes)
        parameters += other.parameters.map { Parameter(type: $0.type, offset: $0.offset + shift) }
    }

    func hasTypes(_ types: [PostgresType]) -> Bool {
        parameters.count == types.count && zip(parameters, types).allSatisfy { $0.type == $1 }
    }
}
