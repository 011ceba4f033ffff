/// Bytes in PostgreSQL's binary format: big-endian numbers, fields preceded by their length.
///
/// All values of a statement share one buffer, so that a statement of 45 arrays of 100 elements costs a few
/// reallocations and not thousands.
public struct PostgresBuffer: Sendable {
    @usableFromInline var bytes: [UInt8] = []

    @usableFromInline
    init() {}

    /// Appends a byte without a length.
    @inlinable
    public mutating func append(_ byte: UInt8) {
        bytes.append(byte)
    }

    /// Appends UTF-8 without a length.
    @inlinable
    public mutating func append(_ text: some StringProtocol) {
        bytes.append(contentsOf: text.utf8)
    }

    /// Appends bytes without a length.
    @inlinable
    public mutating func append(contentsOf new: [UInt8]) {
        bytes.append(contentsOf: new)
    }

    /// Appends a number of fixed width, big-endian, without a length.
    @inlinable
    public mutating func append<Integer: FixedWidthInteger & BitwiseCopyable>(_ integer: Integer) {
        withUnsafeBytes(of: integer.bigEndian) { bytes.append(contentsOf: $0) }
    }

    /// Appends the length of a field of fixed width, and the field.
    @inlinable
    public mutating func appendField<Integer: FixedWidthInteger & BitwiseCopyable>(_ integer: Integer) {
        append(Int32(MemoryLayout<Integer>.size))
        append(integer)
    }

    /// Appends a field whose length is known only after `encode` has written it.
    @inlinable
    public mutating func appendField(_ encode: (inout PostgresBuffer) -> Void) {
        let start = bytes.count
        append(Int32(0))
        encode(&self)
        patch(Int32(bytes.count - start - 4), at: start)
    }

    /// Appends text. Its length is known in advance, so its bytes are copied at once.
    @inlinable
    mutating func appendField(utf8: String.UTF8View) {
        let isCopied: Void? = utf8.withContiguousStorageIfAvailable { text in
            append(Int32(text.count))
            bytes.append(contentsOf: text)
        }
        if isCopied == nil { appendField { $0.bytes.append(contentsOf: utf8) } }
    }

    /// Appends SQL's NULL: a length of -1.
    @inlinable
    public mutating func appendNull() {
        append(Int32(-1))
    }

    /// Appends fields of one fixed width, each with its length.
    @inlinable
    mutating func appendFields<Element, Integer: FixedWidthInteger & BitwiseCopyable>(
        _ elements: [Element], _ integer: (Element) -> Integer
    ) {
        let width = MemoryLayout<Integer>.size
        let start = bytes.count
        bytes.append(contentsOf: repeatElement(0, count: elements.count * (4 + width)))
        bytes.withUnsafeMutableBytes { bytes in
            var offset = start
            for element in elements {
                bytes.storeBytes(of: Int32(width).bigEndian, toByteOffset: offset, as: Int32.self)
                bytes.storeBytes(of: integer(element).bigEndian, toByteOffset: offset + 4, as: Integer.self)
                offset += 4 + width
            }
        }
    }

    /// Empties the buffer, but keeps its memory.
    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
    }

    @inlinable
    mutating func patch(_ integer: Int32, at offset: Int) {
        bytes.withUnsafeMutableBytes { $0.storeBytes(of: integer.bigEndian, toByteOffset: offset, as: Int32.self) }
    }
}
