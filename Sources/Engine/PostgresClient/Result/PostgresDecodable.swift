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
