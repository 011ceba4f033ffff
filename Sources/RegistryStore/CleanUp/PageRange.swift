import PostgresClient

/// Some pages of a table, next to each other. `Tid Range Scan` reads them without an index, and without the rest of the
/// table.
///
/// The night job finds what is due by reading the table in its physical order, in transactions so short that they hold
/// back neither vacuum nor the change feed. It writes by key.
struct PageRange: Hashable {
    let pages: Range<Int64>

    /// The condition for a row to be on one of the pages.
    ///
    /// - Parameter row: the table's alias.
    func contains(_ row: PostgresSQL) -> PostgresSQL {
        """
        \(sql: row).ctid >= \(literal: "(\(pages.lowerBound),0)")::tid
            AND \(sql: row).ctid < \(literal: "(\(pages.upperBound),0)")::tid
        """
    }

    /// The pages that a table has now, `size` in each range. Rows that are written behind them later are not in it.
    static func all(of table: String, by size: Int64, _ session: PostgresSession) throws -> [PageRange] {
        let end: Int64 = try session.execute(
            "SELECT pg_relation_size(\(table)::text::regclass) / current_setting('block_size')::bigint")[0].decode(0)
        return stride(from: 0, to: end, by: Int64.Stride(size)).map { PageRange(pages: $0..<min($0 + size, end)) }
    }
}
