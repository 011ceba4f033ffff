extension Bool: PostgresArrayElement {
    public static var postgresType: PostgresType { .bool }
    public static var postgresArrayType: PostgresType { .boolArray }

    /// One byte, 0 or 1.
    @inlinable
    public func encodeField(into buffer: inout PostgresBuffer) {
        buffer.appendField(UInt8(self ? 1 : 0))
    }
}

extension Int16: PostgresArrayElement {
    public static var postgresType: PostgresType { .int2 }
    public static var postgresArrayType: PostgresType { .int2Array }

    /// Two bytes, big-endian.
    @inlinable
    public func encodeField(into buffer: inout PostgresBuffer) {
        buffer.appendField(self)
    }

    @inlinable
    public static func encodeFields(_ elements: [Int16], into buffer: inout PostgresBuffer) {
        buffer.appendFields(elements) { $0 }
    }
}

extension Int32: PostgresArrayElement {
    public static var postgresType: PostgresType { .int4 }
    public static var postgresArrayType: PostgresType { .int4Array }

    /// Four bytes, big-endian.
    @inlinable
    public func encodeField(into buffer: inout PostgresBuffer) {
        buffer.appendField(self)
    }

    @inlinable
    public static func encodeFields(_ elements: [Int32], into buffer: inout PostgresBuffer) {
        buffer.appendFields(elements) { $0 }
    }
}

extension Int64: PostgresArrayElement {
    public static var postgresType: PostgresType { .int8 }
    public static var postgresArrayType: PostgresType { .int8Array }

    /// Eight bytes, big-endian.
    @inlinable
    public func encodeField(into buffer: inout PostgresBuffer) {
        buffer.appendField(self)
    }

    @inlinable
    public static func encodeFields(_ elements: [Int64], into buffer: inout PostgresBuffer) {
        buffer.appendFields(elements) { $0 }
    }
}

extension Int: PostgresArrayElement {
    public static var postgresType: PostgresType { .int8 }
    public static var postgresArrayType: PostgresType { .int8Array }

    /// Eight bytes, big-endian.
    @inlinable
    public func encodeField(into buffer: inout PostgresBuffer) {
        buffer.appendField(Int64(self))
    }

    @inlinable
    public static func encodeFields(_ elements: [Int], into buffer: inout PostgresBuffer) {
        buffer.appendFields(elements) { Int64($0) }
    }
}

extension Double: PostgresArrayElement {
    public static var postgresType: PostgresType { .float8 }
    public static var postgresArrayType: PostgresType { .float8Array }

    /// The eight bytes of IEEE 754, big-endian.
    @inlinable
    public func encodeField(into buffer: inout PostgresBuffer) {
        buffer.appendField(bitPattern)
    }

    @inlinable
    public static func encodeFields(_ elements: [Double], into buffer: inout PostgresBuffer) {
        buffer.appendFields(elements) { $0.bitPattern }
    }
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

extension PostgresTimestamp: PostgresArrayElement {
    public static var postgresType: PostgresType { .timestamptz }
    public static var postgresArrayType: PostgresType { .timestamptzArray }

    /// Microseconds since 2000-01-01 in UTC: eight bytes, big-endian.
    @inlinable
    public func encodeField(into buffer: inout PostgresBuffer) {
        buffer.appendField(microsecondsSince2000)
    }

    @inlinable
    public static func encodeFields(_ elements: [PostgresTimestamp], into buffer: inout PostgresBuffer) {
        buffer.appendFields(elements) { $0.microsecondsSince2000 }
    }
}
