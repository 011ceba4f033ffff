import PostgresClient
import PushRegistry
import RegistryStore

/// The SQL that finds, locks and deletes old rows.
extension OldRows {
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

    /// Forgets the users of these rows in the installations that they have left.
    func forget(_ keys: [Key], in app: AppNumber) throws -> PostgresStatement? {
        guard haveDigests else { return nil }
        let digests = try keys.map { UserDigest.registrant(UserDigest.sha256(try UserID($0[0]))) }
        return UserStatements.forgetFormerOwners(app.rawValue, keys.map { $0[0] }, keys.map { $0[1] }, digests)
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
