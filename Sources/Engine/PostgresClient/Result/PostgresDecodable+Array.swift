/// A value that can be an element of a decoded array.
public protocol PostgresDecodableElement: PostgresDecodable {
    /// Decodes the field of an array. The default decodes the binary form of an SQL array.
    static func decodeArray(_ bytes: RawSpan, type: PostgresType) -> [Self]?
}

extension Bool: PostgresDecodableElement {}
extension Int16: PostgresDecodableElement {}
extension Int32: PostgresDecodableElement {}
extension Int64: PostgresDecodableElement {}
extension Int: PostgresDecodableElement {}
extension Double: PostgresDecodableElement {}
extension String: PostgresDecodableElement {}
extension PostgresTimestamp: PostgresDecodableElement {}
extension Optional: PostgresDecodableElement where Wrapped: PostgresDecodableElement {}

/// A `bytea` is decoded as an array of bytes.
extension UInt8: PostgresDecodableElement {
    /// From a `smallint` of 0 to 255.
    public static func decode(_ bytes: RawSpan, type: PostgresType) -> UInt8? {
        Int16.decode(bytes, type: type).flatMap { UInt8(exactly: $0) }
    }

    /// From a `bytea`.
    public static func decodeArray(_ bytes: RawSpan, type: PostgresType) -> [UInt8]? {
        guard type == .bytea else { return nil }
        return bytes.withUnsafeBytes { Array($0) }
    }
}

extension Array: PostgresDecodable where Element: PostgresDecodableElement {
    /// From a one-dimensional array, or a `bytea` for bytes.
    public static func decode(_ bytes: RawSpan, type: PostgresType) -> [Element]? {
        Element.decodeArray(bytes, type: type)
    }
}

extension [UInt8]: PostgresDecodableElement {}

extension PostgresDecodableElement {
    /// Nil for more than one dimension, for an element of another type, and for NULL unless the elements are optional.
    public static func decodeArray(_ bytes: RawSpan, type: PostgresType) -> [Self]? {
        var reader = ArrayReader()
        guard let count = reader.readHeader(bytes) else { return nil }
        var result: [Self] = []
        result.reserveCapacity(count)
        for _ in 0..<count {
            guard let length = reader.readInt32(bytes).map(Int.init) else { return nil }
            guard let element = length < 0 ? fromNull() : reader.decode(bytes, length, as: Self.self) else {
                return nil
            }
            result.append(element)
        }
        return result
    }
}

/// Reads the format of `array_send`. Each step checks the number of remaining bytes.
private struct ArrayReader {
    private var offset = 0
    private var type = PostgresType.unknown

    /// The number of elements; nil for more than one dimension.
    mutating func readHeader(_ bytes: RawSpan) -> Int? {
        guard let dimensions = readInt32(bytes), readInt32(bytes) != nil, let element = readInt32(bytes) else {
            return nil
        }
        type = PostgresType(rawValue: UInt32(bitPattern: element))
        guard dimensions == 1 else { return dimensions == 0 ? 0 : nil }
        guard let count = readInt32(bytes), readInt32(bytes) != nil, count >= 0 else { return nil }
        // Each element has at least a length.
        return Int(count) <= (bytes.byteCount - offset) / 4 ? Int(count) : nil
    }

    mutating func decode<Element: PostgresDecodable>(_ bytes: RawSpan, _ length: Int, as: Element.Type) -> Element? {
        guard length <= bytes.byteCount - offset else { return nil }
        defer { offset += length }
        return Element.decode(bytes.extracting(offset..<offset + length), type: type)
    }

    mutating func readInt32(_ bytes: RawSpan) -> Int32? {
        guard offset + 4 <= bytes.byteCount else { return nil }
        defer { offset += 4 }
        return Int32(bigEndian: bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: Int32.self))
    }
}
