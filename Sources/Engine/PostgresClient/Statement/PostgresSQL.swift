/// A fragment of SQL with its bound values; dynamic SQL is composed of fragments.
///
///     let condition: PostgresSQL = "locale = \(locale)"
///     let statement: PostgresStatement = "SELECT count(*) FROM installation WHERE \(sql: condition)"
///
/// Literal text is SQL, and an interpolated value becomes a placeholder. A run-time `String` never becomes SQL.
public struct PostgresSQL: Sendable, ExpressibleByStringInterpolation {
    /// The text around the placeholders: one part more than bound values.
    private(set) var parts: [String] = [""]
    private(set) var binds = PostgresBinds()

    /// An empty fragment, to append to.
    public init() {}

    public init(stringLiteral literal: String) {
        parts = [literal]
    }

    public init(stringInterpolation interpolation: StringInterpolation) {
        self = interpolation.sql
    }

    /// SQL that the program composed of its own literals: names of columns, casts, numbers of parameters. Never pass a
    /// value from outside.
    package init(trusted sql: String) {
        parts = [sql]
    }

    package static func + (left: PostgresSQL, right: PostgresSQL) -> PostgresSQL {
        var sum = left
        sum.append(right)
        return sum
    }

    /// The name of a table or column, quoted. Traps if it contains NUL.
    public init(identifier: String) {
        parts = [Self.quoted(identifier, with: "\"")]
    }

    /// A value as a quoted literal, for the few statements that take no placeholder, such as `CREATE TABLE … FOR
    /// VALUES`. Traps if it contains NUL.
    ///
    /// It relies on `standard_conforming_strings`, which every connection of this client turns on.
    public init(literal: String) {
        parts = [Self.quoted(literal, with: "'")]
    }

    private static func quoted(_ text: String, with quote: Unicode.Scalar) -> String {
        precondition(!text.utf8.contains(0), "PostgreSQL's text cannot contain NUL")
        var result = String.UnicodeScalarView()
        result.append(quote)
        for scalar in text.unicodeScalars {
            if scalar == quote { result.append(quote) }
            result.append(scalar)
        }
        result.append(quote)
        return String(result)
    }

    /// The SQL as it is sent, with `$1`, `$2`, … for the bound values.
    public var text: String {
        var text = parts[0]
        for (index, part) in parts.dropFirst().enumerated() {
            text += "$\(index + 1)"
            text += part
        }
        return text
    }

    /// A statement that returns the bound values as literals, each cast to its type: one row with one array. Nil if no
    /// value is bound.
    var literals: PostgresStatement? {
        guard binds.count > 0 else { return nil }
        let values = (1...binds.count).map { "format('%L::%s', $\($0), pg_typeof($\($0)))" }
        return PostgresStatement(text: "SELECT ARRAY[\(values.joined(separator: ", "))]", binds: binds)
    }

    /// The SQL with `literals` in place of the placeholders, for the few statements that take no placeholder.
    func text(with literals: [String]) -> String {
        zip(literals, parts.dropFirst()).reduce(into: parts[0]) { $0 += $1.0 + $1.1 }
    }

    /// Appends the text, and the values after the earlier ones: `$1` of `other` gets the next number.
    public mutating func append(_ other: PostgresSQL) {
        parts[parts.count - 1] += other.parts[0]
        parts += other.parts.dropFirst()
        binds.append(other.binds)
    }

    fileprivate mutating func append(literal: String) {
        parts[parts.count - 1] += literal
    }

    fileprivate mutating func append(value: some PostgresBindable) {
        binds.bind(value)
        parts.append("")
    }
}

extension PostgresSQL {
    /// Collects an interpolated literal: its text becomes SQL, its values are bound.
    public struct StringInterpolation: StringInterpolationProtocol, Sendable {
        fileprivate(set) var sql = PostgresSQL()

        public init(literalCapacity: Int, interpolationCount: Int) {}

        public mutating func appendLiteral(_ literal: String) {
            sql.append(literal: literal)
        }

        /// `\(value)`: binds the value.
        public mutating func appendInterpolation(_ value: some PostgresBindable) {
            sql.append(value: value)
        }

        /// `\(value)` of an optional: NULL for nil. (With a non-optional parameter the compiler would warn.)
        public mutating func appendInterpolation<Value: PostgresBindable>(_ value: Value?) {
            sql.append(value: value)
        }

        /// `\(sql: fragment)`: inserts the fragment with its values.
        public mutating func appendInterpolation(sql piece: PostgresSQL) {
            sql.append(piece)
        }

        /// `\(identifier: name)`: inserts the quoted name of a table or column.
        public mutating func appendInterpolation(identifier: String) {
            sql.append(PostgresSQL(identifier: identifier))
        }

        /// `\(literal: text)`: inserts a quoted literal, where no placeholder is allowed.
        public mutating func appendInterpolation(literal: String) {
            sql.append(PostgresSQL(literal: literal))
        }
    }
}

extension Sequence<PostgresSQL> {
    /// The fragments in order, with their values; an empty fragment if there are none.
    public func joined(separator: PostgresSQL) -> PostgresSQL {
        var result = PostgresSQL()
        for (index, piece) in self.enumerated() {
            if index > 0 { result.append(separator) }
            result.append(piece)
        }
        return result
    }
}
