import PostgresClient

/// Some pages of a table, next to each other: `Tid Range Scan` reads them without an index, and without the rest of the table.
///
/// What is done range by range is done in transactions so short that they hold back neither vacuum nor the change feed.
struct TablePages: Hashable {
    let range: Range<Int64>

    /// The condition for a row to be on one of the pages.
    ///
    /// - Parameter row: the table's alias.
    func hold(_ row: PostgresSQL) -> PostgresSQL {
        """
        \(sql: row).ctid >= \(literal: "(\(range.lowerBound),0)")::tid AND \(sql: row).ctid < \(literal: "(\(range.upperBound),0)")::tid
        """
    }

    /// The number of a row's page.
    static func number(_ row: PostgresSQL) -> PostgresSQL {
        "((\(sql: row).ctid::text::point)[0])::bigint"
    }

    /// A table's pages of now, `size` in each range; rows that are written behind them meanwhile are not among it.
    static func all(of table: String, by size: Int64, _ session: PostgresSession) throws -> [TablePages] {
        let end: Int64 = try session.execute(
            "SELECT pg_relation_size(\(table)::text::regclass) / current_setting('block_size')::bigint")[0].decode(0)
        return stride(from: 0, to: end, by: Int64.Stride(size)).map { TablePages(range: $0..<min($0 + size, end)) }
    }
}
