import PostgresClient
import PushRegistry

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
            column = ColumnList.Column(
                name: name.description, type: type.description, cast: cast?.description, elementCast: nil)
            bind = { binds, rows in binds.bind(rows.map(value)) }
            bindAlone = { binds, row in binds.bind(value(row)) }
        }

        /// A column of text arrays. In a batch each value is sent as an array literal, alone as an array.
        init(_ name: StaticString, texts: @escaping @Sendable (Row) -> [String]?) {
            column = ColumnList.Column(name: name.description, type: "text", cast: nil, elementCast: "text[]")
            bind = { binds, rows in binds.bind(rows.map { texts($0).map(arrayLiteral) }) }
            bindAlone = { binds, row in binds.bind(texts(row)) }
        }

        /// A column of choices about topics; NULL for none. In a batch each value is sent as an array literal, alone as
        /// an array.
        init(_ name: StaticString, choices: @escaping @Sendable (Row) -> TopicChoices) {
            column = ColumnList.Column(name: name.description, type: "text", cast: nil, elementCast: "integer[]")
            bind = { binds, rows in binds.bind(rows.map { choices($0).literal }) }
            bindAlone = { binds, row in binds.bind(choices(row).stored) }
        }
    }

    package let list: ColumnList
    private let columns: [Column]

    init(_ columns: [Column]) {
        self.columns = columns
        list = ColumnList(columns: columns.map(\.column))
    }

    /// Binds the values of one row, in the columns' order, for COPY in binary form.
    package func bind(_ row: Row, to binds: inout PostgresBinds) {
        for column in columns { column.bindAlone(&binds, row) }
    }

    /// Binds an array for each column.
    func bind(_ rows: [Row], to binds: inout PostgresBinds) {
        for column in columns { column.bind(&binds, rows) }
    }
}

/// An array as the text that PostgreSQL reads it from.
private func arrayLiteral(_ elements: [String]) -> String {
    "{" + elements.map(quotedElement).joined(separator: ",") + "}"
}

private func quotedElement(_ element: String) -> String {
    guard element.utf8.contains(where: { $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") }) else {
        return "\"\(element)\""
    }
    return "\"" + element.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
}
