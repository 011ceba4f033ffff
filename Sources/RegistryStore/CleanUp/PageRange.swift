import PostgresClient
import PushRegistry

/// Some pages of a table, next to each other. `Tid Range Scan` reads them without an index, and without the rest of the
/// table.
///
/// The night job finds the due installations by reading the table in its physical order, in transactions so short that
/// they hold back neither vacuum nor the change feed. It writes by key.
struct PageRange: Hashable {
    static let named = [
        NamedStatement(
            "countPages", serving: "Clean-up: reads how many pages a table has.", countPages(of: "installation")),
        NamedStatement(
            "countPagesOfShard", serving: "Clean-up, on Citus: reads how many pages the shard of an app has.",
            countPagesOfShard(of: "installation", NamedStatement.app)),
    ]

    let pages: Range<Int64>
    /// On Citus, the pages are of this app's shard.
    var app: AppNumber?

    /// The condition for a row to be on one of the pages.
    ///
    /// - Parameter row: the table's alias.
    func contains(_ row: PostgresSQL) -> PostgresSQL {
        let pages: PostgresSQL = """
            \(sql: row).ctid >= \(literal: "(\(self.pages.lowerBound),0)")::tid
                AND \(sql: row).ctid < \(literal: "(\(self.pages.upperBound),0)")::tid
            """
        guard let app else { return pages }
        return "\(sql: row).app_id = \(app.rawValue) AND \(sql: pages)"
    }

    /// The pages that a table has now, `size` in each range. Rows that are written behind them later are not in it.
    static func all(of table: String, by size: Int64, _ session: PostgresSession) throws -> [PageRange] {
        guard try Distribution.exists(session) else {
            return ranges(try session.execute(countPages(of: table))[0].decode(0), by: size)
        }
        return try session.execute(RollUpStatements.allApps).flatMap { row in
            let app = AppNumber(try row.decode(0))
            // An app without rows has no shard to look at.
            let count = try session.execute(countPagesOfShard(of: table, app)).first?.decode(0, as: Int64.self)
            return ranges(count ?? 0, by: size, of: app)
        }
    }

    private static func ranges(_ count: Int64, by size: Int64, of app: AppNumber? = nil) -> [PageRange] {
        stride(from: 0, to: count, by: Int64.Stride(size)).map {
            PageRange(pages: $0..<min($0 + size, count), app: app)
        }
    }

    static func countPages(of table: String) -> PostgresStatement {
        "SELECT pg_relation_size(\(table)::text::regclass) / current_setting('block_size')::bigint"
    }

    static func countPagesOfShard(of table: String, _ app: AppNumber) -> PostgresStatement {
        PostgresStatement(
            """
            SELECT pg_relation_size(tableoid) / current_setting('block_size')::bigint FROM \(identifier: table)
            WHERE app_id = \(app.rawValue) LIMIT 1
            """
        ).unprepared()
    }
}
