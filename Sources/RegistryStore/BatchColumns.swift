import PostgresClient

/// The columns of a set-based statement as SQL:
///
///     INSERT INTO t (\(columns.names)) SELECT \(columns.values) FROM \(columns.unnest)
package struct ColumnList: Sendable {
    struct Column: Sendable {
        let name: String
        /// The type of the array's elements as they are sent.
        let type: String
        /// The column's own type, where it is another: an enum's label or an array's text is cast.
        let cast: String?
    }

    let columns: [Column]

    static func + (left: ColumnList, right: ColumnList) -> ColumnList {
        ColumnList(columns: left.columns + right.columns)
    }

    package var names: PostgresSQL { sql(columns.map(\.name)) }

    /// The columns of one of several tables.
    func names(of table: String) -> PostgresSQL { sql(columns.map { "\(table).\($0.name)" }) }

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

    private func sql(_ parts: [String]) -> PostgresSQL {
        PostgresSQL(stringLiteral: parts.joined(separator: ", "))
    }
}

/// Columns of a set-based statement, with how their arrays are bound from the rows of a batch.
package struct BatchColumns<Row>: Sendable {
    package struct Column: Sendable {
        let column: ColumnList.Column
        let bind: @Sendable (inout PostgresBinds, [Row]) -> Void
        /// Binds one row's value by itself, in the column's own type or as its text: for COPY.
        let bindAlone: @Sendable (inout PostgresBinds, Row) -> Void

        init<Value: PostgresArrayElement & SendableMetatype>(
            _ name: StaticString, _ type: StaticString, cast: StaticString? = nil,
            _ value: @escaping @Sendable (Row) -> Value
        ) {
            column = ColumnList.Column(name: name.description, type: type.description, cast: cast?.description)
            bind = { binds, rows in binds.bind(rows.map(value)) }
            bindAlone = { binds, row in binds.bind(value(row)) }
        }

        /// A column of texts: within a batch each value is an array literal, alone it is an array.
        init(
            _ name: StaticString, alone: @escaping @Sendable (Row) -> [String],
            asText: @escaping @Sendable (Row) -> String
        ) {
            column = ColumnList.Column(name: name.description, type: "text", cast: "text[]")
            bind = { binds, rows in binds.bind(rows.map(asText)) }
            bindAlone = { binds, row in binds.bind(alone(row)) }
        }
    }

    package let list: ColumnList
    private let columns: [Column]

    init(_ columns: [Column]) {
        self.columns = columns
        list = ColumnList(columns: columns.map(\.column))
    }

    /// Binds the values of one row, in the columns' order: what COPY in binary form takes.
    package func bind(_ row: Row, to binds: inout PostgresBinds) {
        for column in columns { column.bindAlone(&binds, row) }
    }

    /// Binds an array for each column.
    func bind(_ rows: [Row], to binds: inout PostgresBinds) {
        for column in columns { column.bind(&binds, rows) }
    }

    func statement(_ prepared: PreparedSQL, _ rows: [Row]) -> PostgresStatement {
        PostgresStatement(prepared) { bind(rows, to: &$0) }
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
