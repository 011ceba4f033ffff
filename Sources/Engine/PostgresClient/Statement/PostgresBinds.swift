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
