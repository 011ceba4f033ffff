import PostgresClient
import PushRegistry

/// Rows of a narrow table that the night job forgets, and the SQL that finds, locks and deletes them.
struct OldRows {
    /// The columns of a row's key behind `app_id`, as text.
    typealias Key = [String]

    let table: String
    private let rule: String
    /// The columns of the primary key behind `app_id`, with their types.
    private let columns: [(name: String, type: String)]
    /// Of a row `t`. Rows up to `b.since` are old for their app.
    private let condition: PostgresSQL

    // MARK: Rows to forget

    /// R7: logouts past the app's `sessionTombstones`. A session stays if an installation is bound in it, or was until
    /// then: `cleanup undo` may restore the binding. The row of a user who never logged out and has no choices about
    /// topics is only a lock; the next registration adds it again.
    static let tombstones = [
        OldRows(
            table: "session", rule: "R7", columns: [("session_id", "text")],
            condition: """
                greatest(t.ended_at, t.kept_at, t.seen_at) <= b.since AND NOT EXISTS (
                    SELECT FROM installation_owner o
                    WHERE o.app_id = t.app_id AND o.session_id = t.session_id
                        AND (o.left_at IS NULL OR o.left_at > b.since))
                """),
        OldRows(
            table: "user_guard", rule: "R7", columns: [("user_sha256", "bytea")],
            condition: "coalesce(t.refused_before, t.added_at) <= b.since AND t.topics IS NULL"),
        OldRows(
            table: "installation_logout", rule: "R7",
            columns: [("install_id", "text"), ("user_sha256", "bytea"), ("session_id", "text")],
            condition: "t.logged_out_at <= b.since"),
    ]

    /// R1: tokens without a holder.
    static let holders = OldRows(
        table: "token_holder", rule: "R1", columns: [("provider", "provider"), ("token_sha256", "bytea")],
        condition: "t.install_id IS NULL")

    /// R12: former owners, past the time for which history is kept.
    static let owners = OldRows(
        table: "installation_owner", rule: "R12", columns: [("user_id", "text"), ("install_id", "text")],
        condition: "t.left_at <= b.since")

    /// R11: tokens and sessions that `cleanup undo` cannot restore, because the installation has changed.
    static let changes = OldRows(
        table: "cleanup_change", rule: "R11", columns: [("install_id", "text")],
        condition: """
            NOT EXISTS (
                SELECT FROM installation i
                WHERE i.app_id = t.app_id AND i.install_id = t.install_id AND i.generation = t.generation)
            """)

    /// Expired notifications and dedup ids. No call reads them any more, so no lock of the counter is needed.
    static let notifications = [
        OldRows(
            table: "notification", rule: "fine print 66", columns: [("install_id", "text"), ("number", "bigint")],
            condition: "t.expires_at <= b.since"),
        OldRows(
            table: "notification_dedup", rule: "fine print 80",
            columns: [("install_id", "text"), ("dedup_id", "text")],
            condition: "t.expires_at <= b.since"),
    ]

    // MARK: SQL

    static let named = (tombstones + [holders, owners, changes] + notifications).flatMap(\.statements)

    private var statements: [NamedStatement] {
        let (app, time) = (NamedStatement.app, Timestamp(NamedStatement.time))
        let named = { (name: String, action: String, statement: PostgresStatement) in
            NamedStatement("\(name).\(table)", serving: "Clean-up (\(rule)): \(action).", statement)
        }
        return [
            named("count", "dry run: counts old rows", count(before: [(app, time)])),
            named(
                "read", "reads the keys of old rows on some pages", read(NamedStatement.pages, before: [(app, time)])),
            named("lock", "locks old rows, except those that are locked", lock([], of: app, before: time)),
            named("delete", "deletes old rows that it has locked", delete([], of: app, before: time)),
        ]
    }

    private typealias Bound = (app: AppNumber, since: Timestamp)

    func count(before bounds: [(app: AppNumber, since: Timestamp)]) -> PostgresStatement {
        "SELECT count(*) \(sql: from(bounds)) WHERE \(sql: condition)"
    }

    /// Returns the app's number, then the key.
    func read(_ range: PageRange, before bounds: [(app: AppNumber, since: Timestamp)]) -> PostgresStatement {
        """
        SELECT t.app_id, \(sql: selected) \(sql: from(bounds))
        WHERE \(sql: range.contains("t")) AND \(sql: condition)
        """
    }

    /// Returns the keys of the rows that it locked: rows that are still old and that no other transaction has locked.
    func lock(_ keys: [Key], of app: AppNumber, before since: Timestamp) -> PostgresStatement {
        """
        SELECT \(sql: selected)
        FROM \(sql: unnest(keys)) JOIN \(identifier: table) t ON \(sql: isKey(of: app)), \(sql: bound(since))
        WHERE \(sql: condition) FOR UPDATE OF t SKIP LOCKED
        """
    }

    /// Deletes rows that are still old.
    func delete(_ keys: [Key], of app: AppNumber, before since: Timestamp) -> PostgresStatement {
        """
        DELETE FROM \(identifier: table) t USING \(sql: unnest(keys)), \(sql: bound(since))
        WHERE \(sql: isKey(of: app)) AND \(sql: condition)
        """
    }

    func decode(_ row: PostgresRow, from first: Int = 0) throws -> Key {
        try columns.indices.map { try row.decode(first + $0) }
    }

    private func from(_ bounds: [(app: AppNumber, since: Timestamp)]) -> PostgresSQL {
        """
        FROM \(identifier: table) t
            JOIN unnest(\(bounds.map(\.app.rawValue))::integer[], \(bounds.map(\.since.postgres))::timestamptz[])
                AS b (app_id, since) ON b.app_id = t.app_id
        """
    }

    private func bound(_ since: Timestamp) -> PostgresSQL {
        "(SELECT \(since.postgres)::timestamptz AS since OFFSET 0) AS b"
    }

    private func unnest(_ keys: [Key]) -> PostgresSQL {
        let arrays = columns.enumerated().map { index, column in
            "\(keys.map { $0[index] })::text[]" + PostgresSQL(trusted: "::\(column.type)[]")
        }
        let names = columns.map { PostgresSQL(identifier: $0.name) }
        return "unnest(\(sql: arrays.joined(separator: ", "))) AS k (\(sql: names.joined(separator: ", ")))"
    }

    private func isKey(of app: AppNumber) -> PostgresSQL {
        let equal = columns.map { "t.\(identifier: $0.name) = k.\(identifier: $0.name)" as PostgresSQL }
        return "t.app_id = \(app.rawValue) AND \(sql: equal.joined(separator: " AND "))"
    }

    private var selected: PostgresSQL {
        columns.map { "t.\(identifier: $0.name)::text" as PostgresSQL }.joined(separator: ", ")
    }
}
