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

/// The columns of a set-based statement as SQL. The arrays are parameters from `$first` on:
///
///     INSERT INTO t (\(columns.names)) SELECT \(columns.values) FROM \(columns.unnest(from: 2))
package struct ColumnList: Sendable {
    struct Column: Sendable {
        let name: String
        /// The type of the array's elements as they are sent.
        let type: String
        /// The enum to which the whole array is cast.
        let cast: String?
        /// The type to which each element is cast: `text[]`, since an array of arrays would be flattened.
        let elementCast: String?
    }

    let columns: [Column]

    static let id = ColumnList(columns: [Column(name: "id", type: "bigint", cast: nil, elementCast: nil)])

    static func + (left: ColumnList, right: ColumnList) -> ColumnList {
        ColumnList(columns: left.columns + right.columns)
    }

    package var names: PostgresSQL { sql(columns.map(\.name)) }

    /// The columns of one of several tables.
    func names(of table: String) -> PostgresSQL { sql(columns.map { "\(table).\($0.name)" }) }

    /// `k.name` for each column.
    var values: PostgresSQL { names(of: "k") }

    /// `name = k.name` for each column, as in `UPDATE … SET`.
    var assignments: PostgresSQL {
        sql(columns.map { "\($0.name) = k.\($0.name)" })
    }

    /// A FROM item: the arrays as rows named `k`, in the columns' own types.
    ///
    /// Elements are cast here and not where they are used: Citus refuses a cast of a column in an UPDATE.
    func unnest(from first: Int) -> PostgresSQL {
        let arrays = columns.enumerated().map { index, column in
            "$\(first + index)::\(column.type)[]" + (column.cast.map { "::\($0)[]" } ?? "")
        }
        let rows =
            PostgresSQL(trusted: "unnest(\(arrays.joined(separator: ", "))) AS k (") + sql(columns.map(\.name))
            + PostgresSQL(trusted: ")")
        guard columns.contains(where: { $0.elementCast != nil }) else { return rows }
        let own = sql(columns.map { column in "k.\(column.name)" + (column.elementCast.map { "::" + $0 } ?? "") })
        return "(SELECT \(sql: own) FROM \(sql: rows) OFFSET 0) AS k"
    }

    private func sql(_ parts: [String]) -> PostgresSQL {
        PostgresSQL(trusted: parts.joined(separator: ", "))
    }
}

/// The source of an INSERT … SELECT of one app: rows, beside the app's row of `rollup_state`, which it has from its
/// creation on.
///
/// Citus executes such a statement on the app's node, as one task, if the SELECT reads a table that lies beside the
/// target. If it reads arrays alone, Citus executes it on the coordinator and copies its rows to the node, by several
/// statements. There the SELECT list must not call a VOLATILE function (`clock_timestamp`, `nextval`), and calls of a
/// STABLE one (`pg_current_xact_id`) are executed on the coordinator. PostgreSQL reads the row in some microseconds.
enum AppRow {
    /// An expression: the app's number, `$1`.
    static let app: PostgresSQL = "state.app_id"

    /// A FROM item.
    static func beside(_ rows: PostgresSQL) -> PostgresSQL {
        "(SELECT app_id FROM rollup_state WHERE app_id = $1) AS state CROSS JOIN \(sql: rows)"
    }
}
