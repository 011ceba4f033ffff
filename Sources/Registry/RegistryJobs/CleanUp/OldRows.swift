import PostgresClient
import PushRegistry
import RegistryStore

/// Rows of a narrow table that the night job forgets. It reads the table a range of pages at a time, and deletes by key
/// in small transactions.
struct OldRows {
    /// The columns of a row's key behind `app_id`, as text.
    typealias Key = [String]

    let table: String
    let rule: String
    /// The columns of the primary key behind `app_id`, with their types.
    let columns: [(name: String, type: String)]
    /// Of a row `t`. Rows up to `b.since` are old for their app.
    let condition: PostgresSQL
    /// Whether the installations of these rows have digests of the users, which are forgotten with them.
    var haveDigests = false

    // MARK: Rows to forget

    /// R7: logouts past the app's `sessionTombstones`, and sessions that left their installations before that.
    static let tombstones = [
        OldRows(
            table: "session", rule: "R7", columns: [("session_id", "text")],
            condition: "greatest(t.ended_at, t.recorded_at) <= b.since"),
        OldRows(
            table: "user_guard", rule: "R7", columns: [("user_sha256", "bytea")],
            condition: "coalesce(t.refused_before <= b.since, true) AND t.topics IS NULL"),
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
        condition: "t.left_at <= b.since", haveDigests: true)

    /// Expired typed tokens. They count as absent already: a registration that sends one again writes another row, or
    /// this one with another expiry.
    static let typedTokens = OldRows(
        table: "typed_token", rule: "fine print 120",
        columns: [("install_id", "text"), ("kind", "token_kind"), ("name", "text")],
        condition: "t.expires_at <= b.since")

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

    /// R9: counts of dead verdicts, of providers without one for so long.
    static let feedbackHours = OldRows(
        table: "feedback_breaker", rule: "R9", columns: [("provider", "provider"), ("kind", "text")],
        condition: "t.hour_began <= b.since - interval '400 days'")

    /// Receipts of an app that keeps them for a shorter time than another one: their partitions stay.
    ///
    /// - Parameter asOf: the present time. A receipt that may still be valid is not old.
    static func receipts(in partition: String, asOf: Timestamp) -> OldRows {
        OldRows(
            table: partition, rule: "fine print 58", columns: [("installation", "bigint"), ("message", "bigint")],
            condition: """
                EXISTS (
                    SELECT FROM message m
                    WHERE m.app_id = t.app_id AND m.number = t.message AND m.number < message_number(b.since)
                        AND m.receipts_until <= \(asOf.postgres))
                """)
    }

    func decode(_ row: PostgresRow, from first: Int = 0) throws -> Key {
        try columns.indices.map { try row.decode(first + $0) }
    }
}

// MARK: - Purging

extension OldRows {
    /// Pages of small rows that one statement reads.
    private static let pagesPerRead: Int64 = 1_024

    /// Rows that another transaction has locked wait for the next night.
    ///
    /// - Parameters:
    ///   - bounds: the time up to which the rows of each app are old.
    ///   - removed: called after each transaction with the app and the number of deleted rows.
    func purge(
        before bounds: [(app: AppNumber, since: Timestamp)], in session: PostgresSession, _ nodes: CleanUpNodes,
        _ removed: (AppNumber, Int) throws -> Void = { _, _ in }
    ) throws {
        let since = Dictionary(uniqueKeysWithValues: bounds.map { ($0.app, $0.since) })
        var pace = try CleanUpPace(session)
        for range in try PageRange.all(of: table, by: Self.pagesPerRead, session, nodes) {
            try nodes.with(range.apps) {
                let found = try pace.run { try read(range, bounds, session) }
                for (app, keys) in found {
                    guard let since = since[app] else { continue }
                    var rest = keys[...]
                    while !rest.isEmpty {
                        let batch = rest.prefix(pace.batch)
                        rest = rest.dropFirst(batch.count)
                        let count = try pace.run { try delete(Array(batch), of: app, before: since, session) }
                        if count > 0 { try removed(app, count) }
                    }
                }
            }
        }
    }

    private func read(
        _ range: PageRange, _ bounds: [(app: AppNumber, since: Timestamp)], _ session: PostgresSession
    ) throws -> [AppNumber: [Key]] {
        var keys: [AppNumber: [Key]] = [:]
        for row in try session.execute(read(range, before: bounds).unprepared()) {
            keys[AppNumber(try row.decode(0)), default: []].append(try decode(row, from: 1))
        }
        return keys
    }

    /// Locks a row, then checks again whether it is old: the transaction that held the lock may have changed it.
    private func delete(
        _ keys: [Key], of app: AppNumber, before since: Timestamp, _ session: PostgresSession
    ) throws -> Int {
        try session.withTransaction(attemptsMax: 5) {
            // Installations are locked before their owners.
            if let forget = try forget(keys, in: app) { _ = try session.execute(forget) }
            let locked = try session.execute(lock(keys, of: app, before: since)).map { try decode($0) }
            guard !locked.isEmpty else { return 0 }
            return try session.execute(delete(locked, of: app, before: since)).affectedRows
        }
    }
}

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
