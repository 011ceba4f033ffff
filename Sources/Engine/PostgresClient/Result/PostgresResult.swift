/// The result of one statement: its rows and its command tag. libpq's memory holds it until it is decoded.
public struct PostgresResult: Sendable {
    let handle: ResultHandle
    /// The number of rows; 0 for a command that returns none, whatever `affectedRows` is.
    public let count: Int

    init(_ handle: ResultHandle) {
        self.handle = handle
        count = handle.rowCount
    }

    /// For example `UPDATE 3`.
    public var commandTag: String { handle.commandTag }

    /// Rows inserted, updated, deleted or selected; 0 for other commands.
    public var affectedRows: Int { handle.affectedRows }

    /// The index of the column with this name. Look it up once per result, before reading the rows.
    public func column(_ name: String) throws(PostgresDecodeError) -> Int {
        for column in 0..<handle.columnCount where handle.columnName(column) == name { return column }
        throw PostgresDecodeError(.noSuchColumn, column: name)
    }
}

// Not a collection: a subscript of a collection traps, and how many rows the server returns is input.
extension PostgresResult: Sequence {
    public var isEmpty: Bool { count == 0 }
    public var first: PostgresRow? { isEmpty ? nil : PostgresRow(handle: handle, index: 0) }
    public var last: PostgresRow? { isEmpty ? nil : PostgresRow(handle: handle, index: count - 1) }
    public var underestimatedCount: Int { count }

    /// - Throws: `unexpectedResult` if there is no such row.
    public subscript(index: Int) -> PostgresRow {
        get throws(PostgresError) {
            guard index >= 0, index < count else {
                throw PostgresError(.unexpectedResult, message: "row \(index) of \(count)")
            }
            return PostgresRow(handle: handle, index: index)
        }
    }

    public func makeIterator() -> Iterator { Iterator(handle: handle, count: count) }

    /// The rows in the server's order.
    public struct Iterator: IteratorProtocol {
        let handle: ResultHandle
        let count: Int
        private var index = 0

        init(handle: ResultHandle, count: Int) {
            (self.handle, self.count) = (handle, count)
        }

        public mutating func next() -> PostgresRow? {
            guard index < count else { return nil }
            defer { index += 1 }
            return PostgresRow(handle: handle, index: index)
        }
    }
}

/// One row of a result. It keeps the whole result in memory, so decode it and release it.
public struct PostgresRow: Sendable {
    @usableFromInline let handle: ResultHandle
    @usableFromInline let index: Int

    /// Decodes the value of a column.
    ///
    /// - Throws: `null` or `mismatch` if the value does not fit `Value`; `noSuchColumn`.
    @inlinable
    public func decode<Value: PostgresDecodable>(
        _ column: Int, as type: Value.Type = Value.self
    ) throws(PostgresDecodeError) -> Value {
        guard let field = handle.field(index, column) else {
            guard handle.hasColumn(column) else { throw error(.noSuchColumn, column) }
            guard let null = Value.fromNull() else { throw error(.null, column) }
            return null
        }
        guard let value = Value.decode(RawSpan(_unsafeBytes: field), type: handle.columnType(column)) else {
            throw error(.mismatch, column)
        }
        return value
    }

    /// The same by the column's name, which is looked up: for single rows.
    public func decode<Value: PostgresDecodable>(
        _ name: String, as type: Value.Type = Value.self
    ) throws(PostgresDecodeError) -> Value {
        try decode(PostgresResult(handle).column(name), as: type)
    }

    /// True also if there is no such column.
    public func isNull(_ column: Int) -> Bool {
        handle.field(index, column) == nil
    }

    /// Lends the column's bytes in PostgreSQL's binary format; nil for NULL, and if there is no such column.
    public func withBytes<Value>(_ column: Int, _ body: (RawSpan) throws -> Value) rethrows -> Value? {
        guard let field = handle.field(index, column) else { return nil }
        return try body(RawSpan(_unsafeBytes: field))
    }

    @usableFromInline
    func error(_ reason: PostgresDecodeError.Reason, _ column: Int) -> PostgresDecodeError {
        PostgresDecodeError(reason, column: handle.hasColumn(column) ? handle.columnName(column) : "\(column)")
    }
}

/// A column is missing or does not have the type that the code expects: a defect of the code, of a migration or of a
/// pooler, never of a caller.
public struct PostgresDecodeError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The way in which the column does not fit.
    public enum Reason: Hashable, Sendable {
        /// The result has no column of this name or number.
        case noSuchColumn
        /// NULL, and the type is not optional.
        case null
        /// Another type, or invalid bytes.
        case mismatch
    }

    /// `description` says the same in words.
    public let reason: Reason
    /// Its name in the result.
    public let column: String

    init(_ reason: Reason, column: String) {
        self.reason = reason
        self.column = column
    }

    public var description: String {
        switch reason {
        case .noSuchColumn: "there is no column \(column)"
        case .null: "column \(column) is NULL"
        case .mismatch: "column \(column) has another type"
        }
    }
}
