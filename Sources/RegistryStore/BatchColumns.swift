import PostgresClient

/// The columns of a set-based statement: for each its SQL and how its array is bound from the rows of a batch.
///
///     INSERT INTO t (\(columns.names)) SELECT \(columns.values) FROM \(columns.unnest)
package struct BatchColumns<Row>: Sendable {
    package struct Column: Sendable {
        let name: String
        /// The type of the array's elements as they are sent.
        let type: String
        /// The column's own type, where it is another: an enum's label or an array's text is cast.
        let cast: String?
        let bind: @Sendable (inout PostgresBinds, [Row]) -> Void
        /// Binds one row's value by itself, in the column's own type or as its text: for COPY.
        let bindAlone: @Sendable (inout PostgresBinds, Row) -> Void

        init<Value: PostgresArrayElement & SendableMetatype>(
            _ name: StaticString, _ type: StaticString, cast: StaticString? = nil,
            _ value: @escaping @Sendable (Row) -> Value
        ) {
            self.name = name.description
            self.type = type.description
            self.cast = cast?.description
            bind = { binds, rows in binds.bind(rows.map(value)) }
            bindAlone = { binds, row in binds.bind(value(row)) }
        }

        /// A column of texts: within a batch each value is an array literal, alone it is an array.
        init(
            _ name: StaticString, alone: @escaping @Sendable (Row) -> [String],
            asText: @escaping @Sendable (Row) -> String
        ) {
            self.init(
                name: name.description, type: "text", cast: "text[]",
                bind: { binds, rows in binds.bind(rows.map(asText)) },
                bindAlone: { binds, row in binds.bind(alone(row)) })
        }

        private init(
            name: String, type: String, cast: String?, bind: @escaping @Sendable (inout PostgresBinds, [Row]) -> Void,
            bindAlone: @escaping @Sendable (inout PostgresBinds, Row) -> Void
        ) {
            (self.name, self.type, self.cast, self.bind, self.bindAlone) = (name, type, cast, bind, bindAlone)
        }

        /// The same column of rows that this row is part of.
        func part<Whole>(_ part: @escaping @Sendable (Whole) -> Row) -> BatchColumns<Whole>.Column {
            .init(
                name: name, type: type, cast: cast, bind: { [bind] binds, rows in bind(&binds, rows.map(part)) },
                bindAlone: { [bindAlone] binds, row in bindAlone(&binds, part(row)) })
        }
    }

    let columns: [Column]

    init(_ columns: [Column]) {
        self.columns = columns
    }

    package var names: PostgresSQL { sql(columns.map(\.name)) }

    /// What `unnest` gives for each column, in the column's own type.
    var values: PostgresSQL {
        sql(columns.map { column in "k." + column.name + (column.cast.map { "::" + $0 } ?? "") })
    }

    /// The parameters as rows named `k`: `$1` is the first column's array.
    var unnest: PostgresSQL {
        let arrays = columns.enumerated().map { "$\($0 + 1)::\($1.type)[]" }
        return PostgresSQL(
            stringLiteral: "unnest(\(arrays.joined(separator: ", "))) AS k ("
                + columns.map(\.name).joined(separator: ", ") + ")")
    }

    /// Binds the values of one row, in the columns' order: what COPY in binary form takes.
    package func bind(_ row: Row, to binds: inout PostgresBinds) {
        for column in columns { column.bindAlone(&binds, row) }
    }

    func statement(_ prepared: PreparedSQL, _ rows: [Row]) -> PostgresStatement {
        PostgresStatement(prepared) { binds in
            for column in columns { column.bind(&binds, rows) }
        }
    }

    private func sql(_ parts: [String]) -> PostgresSQL {
        PostgresSQL(stringLiteral: parts.joined(separator: ", "))
    }
}

/// An array as the text that PostgreSQL reads it from: `unnest` would flatten an array of arrays.
func arrayLiteral(_ elements: [String]) -> String {
    "{" + elements.map(quotedElement).joined(separator: ",") + "}"
}

private func quotedElement(_ element: String) -> String {
    guard element.utf8.contains(where: { $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") }) else {
        return "\"\(element)\""
    }
    return "\"" + element.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
}
