/// A value that is sent as one number of fixed width, big-endian.
public protocol PostgresFixedWidthElement: PostgresArrayElement {
    /// The number on the wire.
    associatedtype Wire: FixedWidthInteger & BitwiseCopyable
    /// The value as such a number.
    var postgresWire: Wire { get }
}

extension PostgresFixedWidthElement {
    /// The bytes of `Wire`.
    @inlinable
    public func encodeField(into buffer: inout PostgresBuffer) {
        buffer.appendField(postgresWire)
    }

    /// All at once.
    @inlinable
    public static func encodeFields(_ elements: [Self], into buffer: inout PostgresBuffer) {
        buffer.appendFields(elements) { $0.postgresWire }
    }
}

extension Bool: PostgresFixedWidthElement {
    public static var postgresType: PostgresType { .bool }
    public static var postgresArrayType: PostgresType { .boolArray }

    /// One byte, 0 or 1.
    @inlinable public var postgresWire: UInt8 { self ? 1 : 0 }
}

extension Int16: PostgresFixedWidthElement {
    public static var postgresType: PostgresType { .int2 }
    public static var postgresArrayType: PostgresType { .int2Array }
    @inlinable public var postgresWire: Int16 { self }
}

extension Int32: PostgresFixedWidthElement {
    public static var postgresType: PostgresType { .int4 }
    public static var postgresArrayType: PostgresType { .int4Array }
    @inlinable public var postgresWire: Int32 { self }
}

extension Int64: PostgresFixedWidthElement {
    public static var postgresType: PostgresType { .int8 }
    public static var postgresArrayType: PostgresType { .int8Array }
    @inlinable public var postgresWire: Int64 { self }
}

extension Int: PostgresFixedWidthElement {
    public static var postgresType: PostgresType { .int8 }
    public static var postgresArrayType: PostgresType { .int8Array }
    @inlinable public var postgresWire: Int64 { Int64(self) }
}

extension Double: PostgresFixedWidthElement {
    public static var postgresType: PostgresType { .float8 }
    public static var postgresArrayType: PostgresType { .float8Array }

    /// The bits of IEEE 754.
    @inlinable public var postgresWire: UInt64 { bitPattern }
}

extension PostgresTimestamp: PostgresFixedWidthElement {
    public static var postgresType: PostgresType { .timestamptz }
    public static var postgresArrayType: PostgresType { .timestamptzArray }

    /// Microseconds since 2000-01-01 in UTC.
    @inlinable public var postgresWire: Int64 { microsecondsSince2000 }
}

extension String: PostgresArrayElement {
    public static var postgresType: PostgresType { .text }
    public static var postgresArrayType: PostgresType { .textArray }

    /// UTF-8. The server refuses NUL.
    @inlinable
    public func encodeField(into buffer: inout PostgresBuffer) {
        buffer.appendField(utf8: utf8)
    }
}

/// An array of bytes is a `bytea`; a single byte is a `smallint`.
extension UInt8: PostgresArrayElement {
    public static var postgresType: PostgresType { .int2 }
    public static var postgresArrayType: PostgresType { .bytea }

    /// A `smallint`: two bytes, big-endian.
    @inlinable
    public func encodeField(into buffer: inout PostgresBuffer) {
        buffer.appendField(Int16(self))
    }

    /// A `bytea`: the bytes themselves.
    @inlinable
    public static func encodeArray(_ elements: [UInt8], into buffer: inout PostgresBuffer) {
        buffer.appendField { $0.append(contentsOf: elements) }
    }
}

extension [UInt8]: PostgresArrayElement {
    public static var postgresArrayType: PostgresType { .byteaArray }
}
