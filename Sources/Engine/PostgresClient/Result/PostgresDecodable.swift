/// A value that a column can be decoded to.
public protocol PostgresDecodable {
    /// Decodes the binary form; nil if `type` or the bytes do not fit.
    static func decode(_ bytes: RawSpan, type: PostgresType) -> Self?

    /// The value for NULL. Nil means that NULL is an error, which is the default.
    static func fromNull() -> Self?
}

extension PostgresDecodable {
    /// NULL is an error.
    @inlinable
    public static func fromNull() -> Self? { nil }
}

extension Optional: PostgresDecodable where Wrapped: PostgresDecodable {
    /// From the types of `Wrapped`.
    @inlinable
    public static func decode(_ bytes: RawSpan, type: PostgresType) -> Wrapped?? {
        guard let value = Wrapped.decode(bytes, type: type) else { return nil }
        return .some(value)
    }

    /// NULL becomes nil.
    @inlinable
    public static func fromNull() -> Wrapped?? { .some(nil) }
}

extension RawSpan {
    /// A big-endian number; nil if the bytes have another width.
    @inlinable
    func bigEndian<Integer: FixedWidthInteger & BitwiseCopyable>(_ type: Integer.Type) -> Integer? {
        guard byteCount == MemoryLayout<Integer>.size else { return nil }
        return Integer(bigEndian: unsafeLoadUnaligned(as: Integer.self))
    }
}

extension Bool: PostgresDecodable {
    /// From `boolean`.
    @inlinable
    public static func decode(_ bytes: RawSpan, type: PostgresType) -> Bool? {
        guard type == .bool else { return nil }
        return bytes.bigEndian(UInt8.self).map { $0 != 0 }
    }
}

extension Int16: PostgresDecodable {
    /// From `smallint`.
    @inlinable
    public static func decode(_ bytes: RawSpan, type: PostgresType) -> Int16? {
        guard type == .int2 else { return nil }
        return bytes.bigEndian(Int16.self)
    }
}

extension Int32: PostgresDecodable {
    /// From `integer` and `smallint`.
    @inlinable
    public static func decode(_ bytes: RawSpan, type: PostgresType) -> Int32? {
        switch type {
        case .int4: bytes.bigEndian(Int32.self)
        case .int2: bytes.bigEndian(Int16.self).map(Int32.init)
        default: nil
        }
    }
}

extension Int64: PostgresDecodable {
    /// From `bigint`, `integer`, `smallint` and `oid`.
    @inlinable
    public static func decode(_ bytes: RawSpan, type: PostgresType) -> Int64? {
        switch type {
        case .int8: bytes.bigEndian(Int64.self)
        case .int4: bytes.bigEndian(Int32.self).map(Int64.init)
        case .int2: bytes.bigEndian(Int16.self).map(Int64.init)
        case .oid: bytes.bigEndian(UInt32.self).map(Int64.init)
        default: nil
        }
    }
}

extension Int: PostgresDecodable {
    /// From the types of `Int64`.
    @inlinable
    public static func decode(_ bytes: RawSpan, type: PostgresType) -> Int? {
        Int64.decode(bytes, type: type).map(Int.init)
    }
}

extension Double: PostgresDecodable {
    /// From `double precision` and `real`.
    @inlinable
    public static func decode(_ bytes: RawSpan, type: PostgresType) -> Double? {
        switch type {
        case .float8: bytes.bigEndian(UInt64.self).map(Double.init(bitPattern:))
        case .float4: bytes.bigEndian(UInt32.self).map { Double(Float(bitPattern: $0)) }
        default: nil
        }
    }
}

extension PostgresTimestamp: PostgresDecodable {
    /// From `timestamptz`, and from `timestamp`, taken as UTC.
    @inlinable
    public static func decode(_ bytes: RawSpan, type: PostgresType) -> PostgresTimestamp? {
        guard type == .timestamptz || type == .timestamp else { return nil }
        return bytes.bigEndian(Int64.self).map(PostgresTimestamp.init(microsecondsSince2000:))
    }
}

extension String: PostgresDecodable {
    /// Text of any type, JSON, and labels of enums (each database assigns its own type numbers to those).
    public static func decode(_ bytes: RawSpan, type: PostgresType) -> String? {
        switch type {
        case .text, .varchar, .bpchar, .name, .char, .json, .unknown: text(bytes)
        // Binary jsonb starts with its version, 1.
        case .jsonb: bytes.byteCount > 1 ? text(bytes.extracting(droppingFirst: 1)) : nil
        default: type.isOfDatabase ? text(bytes) : nil
        }
    }

    private static func text(_ bytes: RawSpan) -> String {
        bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }
}

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
