import PostgresClient
import PushRegistry
import RegistryStore

/// Some pages of a table, next to each other. `Tid Range Scan` reads them without an index, and without the rest of the
/// table.
///
/// The night job finds the due installations by reading the table in its physical order, in transactions so short that
/// they hold back neither vacuum nor the change feed. It writes row by row.
struct PageRange: Hashable {
    /// How the apps are read on Citus.
    enum Grouping {
        /// A shard once for each of its apps: for statements that join tables, which Citus routes by one app.
        case byApp
        /// A shard once for all of its apps.
        case byShard
    }

    let pages: Range<Int64>
    /// On Citus, the pages are of the shard that has these apps; else none.
    var apps: [AppNumber] = []

    /// The condition for a row to be on one of the pages.
    ///
    /// - Parameter row: the table's alias.
    func contains(_ row: PostgresSQL) -> PostgresSQL {
        let pages: PostgresSQL = """
            \(sql: row).ctid >= \(literal: "(\(self.pages.lowerBound),0)")::tid
                AND \(sql: row).ctid < \(literal: "(\(self.pages.upperBound),0)")::tid
            """
        switch apps.count {
        case 0: return pages
        case 1: return "\(sql: row).app_id = \(apps[0].rawValue) AND \(sql: pages)"
        default: return "\(sql: row).app_id = ANY (\(apps.map(\.rawValue))::integer[]) AND \(sql: pages)"
        }
    }

    /// The pages that a table has now, `size` in each range. Rows that are written behind them later are not in it.
    ///
    /// - Parameter nodes: on Citus, apps whose node does not respond are left out; nil: that is an error.
    static func all(
        of table: String, by size: Int64, _ session: PostgresSession, _ nodes: CleanUpNodes? = nil,
        _ grouping: Grouping = .byApp
    ) throws -> [PageRange] {
        guard try nodes?.isDistributed ?? Distribution.exists(session) else {
            return ranges(try session.execute(CleanUpStatements.countPages(of: table))[0].decode(0), by: size)
        }
        return try groups(grouping, session).flatMap { apps in
            // Apps without rows have no shard to look at.
            let read = {
                try session.execute(CleanUpStatements.countPagesOfShard(of: table, apps).unprepared()).first?
                    .decode(0, as: Int64.self)
            }
            let count = try nodes.map { try $0.with(apps, read) ?? nil } ?? read()
            return ranges(count ?? 0, by: size, of: apps)
        }
    }

    private static func groups(_ grouping: Grouping, _ session: PostgresSession) throws -> [[AppNumber]] {
        switch grouping {
        case .byApp: try session.execute(RollUpStatements.allApps).map { [AppNumber(try $0.decode(0))] }
        case .byShard:
            try session.execute(DistributionStatements.appsByShard.unprepared()).map { row in
                try row.decode(0, as: [Int32].self).map(AppNumber.init)
            }
        }
    }

    private static func ranges(_ count: Int64, by size: Int64, of apps: [AppNumber] = []) -> [PageRange] {
        stride(from: 0, to: count, by: Int64.Stride(size)).map {
            PageRange(pages: $0..<min($0 + size, count), apps: apps)
        }
    }
}
