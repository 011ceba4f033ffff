import PostgresClient

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

    static func + (left: ColumnList, right: ColumnList) -> ColumnList {
        ColumnList(columns: left.columns + right.columns)
    }

    var count: Int { columns.count }

    package var names: PostgresSQL { sql(columns.map(\.name)) }

    /// The columns of one of several tables.
    func names(of table: String) -> PostgresSQL { sql(columns.map { "\(table).\($0.name)" }) }

    /// `k.name` for each column, in the column's own type.
    var values: PostgresSQL {
        sql(columns.map { column in "k." + column.name + (column.elementCast.map { "::" + $0 } ?? "") })
    }

    /// `name = k.name` for each column, as in `UPDATE … SET`.
    var assignments: PostgresSQL {
        sql(columns.map { "\($0.name) = k.\($0.name)" + ($0.elementCast.map { "::" + $0 } ?? "") })
    }

    /// The arrays as rows named `k`.
    func unnest(from first: Int) -> PostgresSQL {
        let arrays = columns.enumerated().map { index, column in
            "$\(first + index)::\(column.type)[]" + (column.cast.map { "::\($0)[]" } ?? "")
        }
        return PostgresSQL(trusted: "unnest(\(arrays.joined(separator: ", "))) AS k (")
            + names + PostgresSQL(trusted: ")")
    }

    private func sql(_ parts: [String]) -> PostgresSQL {
        PostgresSQL(trusted: parts.joined(separator: ", "))
    }
}
