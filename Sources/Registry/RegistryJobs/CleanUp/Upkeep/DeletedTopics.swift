import PostgresClient
import PushRegistry
import RegistryStore

/// The night job's removal of choices about deleted topics (fine print 87). Until then, readers ignore these choices.
///
/// It reads tables in their physical order and writes by key. If a row was skipped, because
/// another transaction changed it meanwhile, the topic's number is kept, and the next night tries again.
struct DeletedTopics {
    let session: PostgresSession
    let nodes: CleanUpNodes

    private static let pagesPerRead: Int64 = 4_096
    private static let batch = 1_000
    /// Fewer users: no registration of theirs can begin meanwhile, nor of others in their buckets.
    private static let usersMax = 16

    private struct App {
        let number: Int32
        /// The codes of all choices about the app's deleted topics.
        let codes: [Int32]
    }

    func remove() throws {
        let apps = try session.execute(DeletedTopicStatements.all()).map { row in
            let numbers = try row.decode(1, as: [Int32].self)
            return App(number: try row.decode(0), codes: numbers + numbers.map { -$0 })
        }
        guard !apps.isEmpty else { return }
        var isComplete = try remove(
            from: "user_guard", of: apps, batch: Self.usersMax, DeletedTopicStatements.readUsers
        ) { app, keys in try removeFromUsers(keys.map(\.key), app) }
        isComplete =
            try remove(
                from: "installation", of: apps, batch: Self.batch, DeletedTopicStatements.readInstallations
            ) { app, keys in
                try session.execute(
                    DeletedTopicStatements.removeFromInstallations(
                        app.number, keys.map(\.key),
                        keys.map(\.revision), app.codes))[0].decode(0)
            } && isComplete
        for app in apps where isComplete {
            _ = try session.execute(DeletedTopicStatements.forget(app.number, app.codes))
        }
    }

    /// A registration reads its user's choices and writes the merged ones, so it must not run at the same time.
    ///
    /// - Parameter digits: of the users' digests.
    /// - Returns: how many were written; 0 if a bucket stays locked for too long.
    private func removeFromUsers(_ digits: [String], _ app: App) throws -> Int {
        let buckets = LockBuckets(users: digits.map(UserDigest.bytes), in: AppNumber(app.number))
        do {
            return try session.withTransaction(attemptsMax: 1) {
                _ = try session.execute(buckets.exclusive)
                return try session.execute(DeletedTopicStatements.removeFromUsers(app.number, digits, app.codes))[0]
                    .decode(0)
            }
        } catch let error as PostgresError where error.kind == .lockTimeout {
            return 0
        }
    }

    /// - Parameter write: returns how many rows it has written.
    /// - Returns: whether all rows were written.
    private func remove(
        from table: String, of apps: [App], batch: Int, _ read: (PageRange, PostgresSQL) -> PostgresStatement,
        _ write: (App, [(key: String, revision: Int64)]) throws -> Int
    ) throws -> Bool {
        let bounds = DeletedTopicStatements.apps(apps.map(\.number), apps.map(\.codes))
        var isComplete = true
        for range in try PageRange.all(of: table, by: Self.pagesPerRead, session, nodes) {
            let found = try nodes.with(range.apps) {
                try session.execute(read(range, bounds).unprepared()).map { row in
                    (
                        app: try row.decode(0, as: Int32.self), key: try row.decode(1, as: String.self),
                        revision: try row.decode(2, as: Int64.self)
                    )
                }
            }
            guard let rows = found else {
                isComplete = false
                continue
            }
            for app in apps {
                let keys = rows.filter { $0.app == app.number }.map { (key: $0.key, revision: $0.revision) }
                    .sorted { $0.key < $1.key }
                for start in stride(from: 0, to: keys.count, by: batch) {
                    let part = Array(keys[start..<min(start + batch, keys.count)])
                    let written = try nodes.with([AppNumber(app.number)]) { try write(app, part) }
                    isComplete = isComplete && written == part.count
                    try session.checkCancellation()
                }
            }
        }
        return isComplete
    }
}

/// The SQL by which the night job removes choices about deleted topics (fine print 87). `$1` is the app.
enum DeletedTopicStatements {
    /// Clean-up (fine print 87): reads the numbers of deleted topics.
    static let all = PreparedSQL(
        "SELECT app_id, array_agg(number) FROM deleted_topic GROUP BY app_id")

    // MARK: Reading

    /// The apps and the codes of all choices about their deleted topics, as a FROM item named `d`.
    static func apps(_ apps: [Int32], _ codes: [[Int32]]) -> PostgresSQL {
        let literals = codes.map { "{" + $0.map(String.init).joined(separator: ",") + "}" }
        return """
            (SELECT a.app_id, a.codes::integer[] AS codes
            FROM unnest(\(apps), \(literals)) AS a (app_id, codes) OFFSET 0) AS d
            """
    }

    /// Returns the app, the user's digest in hexadecimal digits, and 0.
    static func readUsers(_ range: PageRange, _ apps: PostgresSQL) -> PostgresStatement {
        """
        SELECT g.app_id, encode(g.user_sha256, 'hex'), 0::bigint
        FROM user_guard g JOIN \(sql: apps) ON d.app_id = g.app_id
        WHERE \(sql: range.contains("g")) AND g.topics && d.codes
        """
    }

    /// Clean-up (fine print 87): reads installations with choices about deleted topics.
    static func readInstallations(_ range: PageRange, _ apps: PostgresSQL) -> PostgresStatement {
        """
        SELECT i.app_id, i.install_id, i.revision
        FROM installation i JOIN \(sql: apps) ON d.app_id = i.app_id
        WHERE \(sql: range.contains("i")) AND (i.topics && d.codes OR i.topic_choices && d.codes)
        """
    }

    // MARK: Removing

    /// Clean-up (fine print 87): removes choices about deleted topics from users.
    /// `$2` are digests in hexadecimal digits, `$3` the codes. Returns the number of users; it skips locked ones.
    static let removeFromUsers = PreparedSQL(
        """
        WITH found AS MATERIALIZED (
            SELECT g.user_sha256
            FROM unnest($2::text[]) AS k (digits)
            JOIN user_guard g ON g.app_id = $1 AND g.user_sha256 = decode(k.digits, 'hex')
            FOR UPDATE OF g SKIP LOCKED
        ), changed AS (
            UPDATE user_guard g SET topics = choices_without(g.topics, $3::integer[])
            FROM found f WHERE g.app_id = $1 AND g.user_sha256 = f.user_sha256
            RETURNING g.user_sha256
        )
        SELECT count(*) FROM changed
        """)

    /// Writes the installations `$2` that still have the revisions `$3`; `$4` are the codes. Returns their number. It
    /// writes no deltas: the roll-up does not count these choices any more.
    static let removeFromInstallations = PreparedSQL(
        """
        WITH changed AS (
            UPDATE installation i
            SET topics = choices_without(i.topics, $4::integer[]),
                topic_choices = choices_without(i.topic_choices, $4::integer[]), revision = i.revision + 1
            FROM unnest($2::text[], $3::bigint[]) AS k (install_id, revision)
                JOIN installation o ON o.app_id = $1 AND o.install_id = k.install_id AND o.revision = k.revision
            WHERE i.app_id = $1 AND i.install_id = k.install_id AND i.revision = k.revision
            RETURNING o.topics, o.cell, (o.state = 'active')::integer AS active,
                CASE WHEN o.state = 'active' THEN o.session_expires_at END AS expires_at
        ), counted AS (
            INSERT INTO rollup_delta (app_id, transaction_id, topic, cell, expires_at, active, installations)
            SELECT $1, \(sql: RollUpDeltaStatements.transactionID), t.topic, cell, expires_at, -sum(active), -count(*)
            FROM changed CROSS JOIN LATERAL unnest(topics) AS t (topic)
            WHERE t.topic = ANY ($4) GROUP BY t.topic, cell, expires_at
        )
        SELECT count(*) FROM changed
        """)

    /// Clean-up (fine print 87): forgets the numbers of deleted topics.
    /// `$2` are the codes.
    static let forget = PreparedSQL(
        "DELETE FROM deleted_topic WHERE app_id = $1 AND number = ANY ($2)")
}
