import PostgresClient
import PushRegistry

extension RollUp {
    /// A FROM item, without a name: like `relation(by:)`, with a row for each of these topics to which an installation
    /// is subscribed. The column `topic` has the slug.
    ///
    /// The subscribers are all installations except those that left the topic, or those that chose it, by its default.
    func subscriptions(by dimensions: RollUpDimensions, to topics: [Topic]) -> PostgresSQL {
        let isIn = topics.filter(\.content.isInByDefault)
        let open = topics.filter { !$0.content.isLocked }
        let codes = open.map { $0.content.isInByDefault ? -$0.number.rawValue : $0.number.rawValue }
        let steps: [Int64] = open.map { $0.content.isInByDefault ? -1 : 1 }
        let columns = names(of: dimensions) + ["slug AS topic"]
        let all = columns + ["count"]
        let decided = columns + ["count * step AS count"]
        return """
            (SELECT \(sql: all.joined(separator: ", ")) FROM \(sql: relation(by: dimensions)) AS e \
            CROSS JOIN unnest(\(isIn.map(\.slug.rawValue))) AS t (slug) UNION ALL \
            SELECT \(sql: decided.joined(separator: ", ")) FROM \(sql: decisions(codes, by: dimensions)) AS d \
            JOIN unnest(\(open.map(\.slug.rawValue)), \(codes), \(steps)) AS t (slug, code, step) ON t.code = d.choice)
            """
    }

    /// A FROM item: the counts of the installations with these choices, each with its `choice`.
    private func decisions(_ codes: [Int32], by dimensions: RollUpDimensions) -> PostgresSQL {
        let folded: PostgresSQL = """
            SELECT c.*, c.topic AS choice, c.\(sql: count) AS count FROM \(sql: RollUpLevel.topics.table) c \
            WHERE c.app_id = \(app.rawValue) AND c.topic = ANY (\(codes))
            """
        let isAdmitted: PostgresSQL = scope == .reachable ? " AND c.is_admitted" : ""
        let changes: PostgresSQL = """
            SELECT c.*, p.topic AS choice, p.count FROM (\(sql: pending(of: codes))) AS p CROSS JOIN LATERAL (\
            SELECT c.* FROM rollup_cell c \
            WHERE c.app_id = \(app.rawValue) AND c.number = p.cell\(sql: isAdmitted) OFFSET 0) AS c
            """
        let columns = texts(of: dimensions) + ["c.choice", "c.count"]
        let parts = [folded, changes].map { rows in
            """
            SELECT \(sql: columns.joined(separator: ", ")) FROM (\(sql: rows)) AS c\(sql: joins(for: dimensions))
            """ as PostgresSQL
        }
        return "(\(sql: parts.joined(separator: " UNION ALL ")))"
    }
}
