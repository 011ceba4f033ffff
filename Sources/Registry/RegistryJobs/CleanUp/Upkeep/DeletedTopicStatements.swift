import PostgresClient
import PushRegistry
import RegistryStore

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
