import Basics

/// A second form of an INSERT from arrays, for a distributed engine: VALUES, with a placeholder for each value of each
/// row.
///
/// Citus plans an INSERT … SELECT once for each shard of the table, and an INSERT of VALUES once. The cost of VALUES
/// rises with the number of rows, so many rows are sent as arrays.
public final class InsertedValues: Sendable {
    /// More rows are sent as arrays.
    public static let rowsMax = 32
    /// Statements of up to this many rows are prepared, one for each number of rows. Longer ones would fill the memory
    /// of the server's process.
    static let preparedRowsMax = 8

    private let insert: String
    private let rest: String
    /// The text before the first placeholder of a row.
    private let start: Substring
    /// The placeholders of a row, each with the text after it.
    private let parts: [(number: Int, text: Substring)]
    /// The statements that were sent, by the number of rows; plain PostgreSQL needs none.
    private let texts = Locked<[Int: String]>([:])
    private let firstID = PreparedSQL.makeIDs(count: InsertedValues.preparedRowsMax)
    private let scalarCount: Int
    private let arrayCount: Int

    /// - Parameters:
    ///   - insert: the statement up to `VALUES`, without placeholders.
    ///   - row: the values of one row. Placeholders up to the number `scalars` are the values that all rows share;
    ///     those above are elements of the arrays, in their order.
    ///   - rest: the text after the rows, without placeholders.
    ///   - scalars: the number of values that all rows share.
    ///   - arrays: the number of arrays after them.
    public init(_ insert: PostgresSQL, row: PostgresSQL, then rest: PostgresSQL = "", scalars: Int, arrays: Int) {
        (self.insert, self.rest) = (insert.text, rest.text)
        start = row.text.prefix { $0 != "$" }
        parts = row.text.split(separator: "$", omittingEmptySubsequences: false).dropFirst().map { part in
            let digits = part.prefix(while: \.isNumber)
            return (Int(digits) ?? 0, part.dropFirst(digits.count))
        }
        scalarCount = scalars
        arrayCount = arrays
    }

    private func text(rows count: Int) -> String {
        texts.withLock { texts in
            if let text = texts[count] { return text }
            let rows = (0..<count).map { row in
                let values = parts.map { number, text in
                    "$\(number > scalarCount ? number + row * arrayCount : number)" + text
                }
                return "(" + start + values.joined() + ")"
            }
            let text = "\(insert) VALUES \(rows.joined(separator: ", ")) \(rest)"
            texts[count] = text
            return text
        }
    }

    /// Nil if the arrays have no element or too many.
    func statement(from arrays: PostgresBinds) -> PostgresStatement? {
        guard arrays.count == scalarCount + arrayCount, let rows = arrays.rows(after: scalarCount),
            (1...Self.rowsMax).contains(rows.count)
        else { return nil }
        let text = text(rows: rows.count)
        guard rows.count <= Self.preparedRowsMax else { return PostgresStatement(text: text, binds: rows.binds) }
        return PostgresStatement(text: text, binds: rows.binds, id: firstID + rows.count - 1)
    }
}

extension PostgresBinds {
    /// The first values as they are, then the elements of the arrays after them row by row. Nil if these are not arrays
    /// of one length and one dimension.
    fileprivate func rows(after scalarCount: Int) -> (count: Int, binds: PostgresBinds)? {
        let arrays = parameters.dropFirst(scalarCount).compactMap { ArrayField(buffer.bytes, at: $0) }
        guard arrays.count == parameters.count - scalarCount, let count = arrays.first?.elements.count,
            arrays.allSatisfy({ $0.elements.count == count })
        else { return nil }
        var rows = PostgresBinds()
        for parameter in parameters.prefix(scalarCount) {
            rows.append(buffer.bytes[ArrayField.field(buffer.bytes, at: parameter.offset)], parameter.type)
        }
        for row in 0..<count {
            for array in arrays { rows.append(buffer.bytes[array.elements[row]], array.type) }
        }
        return (count, rows)
    }
}

/// The elements of an array in its binary form.
private struct ArrayField {
    let type: PostgresType
    /// Each with its length.
    private(set) var elements: [Range<Int>] = []

    /// The number of dimensions, whether there are NULLs, the element type, the length and the lower bound.
    private static let headBytes = 20

    /// Nil for another value than an array with elements.
    init?(_ bytes: [UInt8], at parameter: PostgresBinds.Parameter) {
        let field = Self.field(bytes, at: parameter.offset)
        let start = field.lowerBound + 4
        guard parameter.type.isArray, field.upperBound - start >= Self.headBytes, Self.integer(bytes, at: start) == 1
        else { return nil }
        type = PostgresType(rawValue: UInt32(bitPattern: Self.integer(bytes, at: start + 8)))
        var next = start + Self.headBytes
        while next < field.upperBound {
            let element = Self.field(bytes, at: next)
            elements.append(element)
            next = element.upperBound
        }
    }

    /// A field with its length, which is -1 for NULL.
    static func field(_ bytes: [UInt8], at offset: Int) -> Range<Int> {
        offset..<offset + 4 + max(0, Int(integer(bytes, at: offset)))
    }

    private static func integer(_ bytes: [UInt8], at offset: Int) -> Int32 {
        bytes[offset..<offset + 4].reduce(0) { $0 << 8 | Int32($1) }
    }
}
