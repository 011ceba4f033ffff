/// The arrays for `PQsendQueryPrepared` and its relatives: types, values, lengths, formats. They grow, and are freed
/// with their connection.
final class ParameterArrays {
    private(set) var values: UnsafeMutablePointer<UnsafePointer<CChar>?>
    private(set) var lengths: UnsafeMutablePointer<CInt>
    private(set) var formats: UnsafeMutablePointer<CInt>
    private(set) var types: UnsafeMutablePointer<UInt32>
    private var capacity = 64

    init() {
        values = .allocate(capacity: capacity)
        lengths = .allocate(capacity: capacity)
        formats = .allocate(capacity: capacity)
        types = .allocate(capacity: capacity)
    }

    deinit {
        free()
    }

    /// Lends the arrays filled with `binds`; their pointers are valid while `body` runs.
    func with<Value>(_ binds: PostgresBinds, _ body: (ParameterArrays) -> Value) -> Value {
        grow(to: binds.count)
        return binds.buffer.bytes.withUnsafeBytes { bytes in
            for (index, parameter) in binds.parameters.enumerated() { set(index, parameter, in: bytes) }
            return body(self)
        }
    }

    private func set(_ index: Int, _ parameter: PostgresBinds.Parameter, in bytes: UnsafeRawBufferPointer) {
        let length = Int32(bigEndian: bytes.loadUnaligned(fromByteOffset: parameter.offset, as: Int32.self))
        let field = bytes.baseAddress.map { $0 + parameter.offset + 4 }
        values[index] = length < 0 ? nil : field?.assumingMemoryBound(to: CChar.self)
        lengths[index] = max(0, length)
        formats[index] = 1
        types[index] = parameter.type.rawValue
    }

    private func grow(to count: Int) {
        guard count > capacity else { return }
        free()
        capacity = count
        values = .allocate(capacity: capacity)
        lengths = .allocate(capacity: capacity)
        formats = .allocate(capacity: capacity)
        types = .allocate(capacity: capacity)
    }

    private func free() {
        values.deallocate()
        lengths.deallocate()
        formats.deallocate()
        types.deallocate()
    }
}
