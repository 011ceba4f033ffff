import PostgresClient
import PushRegistry

/// The changes of one transaction in the roll-up, summed by cell and session expiry: of all installations, and of those
/// with a choice about a topic.
struct RollUpDelta: Sendable {
    static let named = [
        NamedStatement("append", append)
    ]

    struct Key: Hashable {
        /// As `TopicChoices` codes a choice; 0 for all installations.
        let topic: Int32
        let cell: Int64
        /// Of an active installation in a session that expires.
        let expiresAt: Timestamp?
    }

    struct Change: Hashable {
        /// Of installations whose state is `active`.
        var active: Int64 = 0
        var installations: Int64 = 0
    }

    private(set) var changes: [Key: Change] = [:]

    /// Counts an installation in its cell, or no longer.
    mutating func add(_ installation: Installation, in cell: Int64, step: Int64) {
        let isActive = installation.state == .active
        let expiresAt = isActive ? installation.owner?.session?.expiresAt : nil
        for topic in installation.topics.isEmpty ? [0] : [0] + installation.topics.codes {
            let key = Key(topic: topic, cell: cell, expiresAt: expiresAt)
            changes[key, default: Change()].active += isActive ? step : 0
            changes[key, default: Change()].installations += step
        }
    }

    /// Nil where all changes cancel out.
    func statement(in app: AppNumber) -> PostgresStatement? {
        let rows = changes.filter { $0.value != Change() }
        guard !rows.isEmpty else { return nil }
        return PostgresStatement(
            Self.append, app.rawValue, rows.map(\.key.topic), rows.map(\.key.cell),
            rows.map { $0.key.expiresAt?.postgres },
            rows.map(\.value.active), rows.map(\.value.installations))
    }

    private static let append = PreparedSQL(
        serving: "Every call that changes installations under locks (R13): writes deltas of counts.",
        """
        INSERT INTO rollup_delta (app_id, transaction_id, topic, cell, expires_at, active, installations)
        SELECT $1, \(sql: transactionID), topic, cell, expires_at, active, installations
        FROM unnest($2::integer[], $3::bigint[], $4::timestamptz[], $5::bigint[], $6::bigint[])
            AS k (topic, cell, expires_at, active, installations)
        """)

    /// An INSERT: the deltas of changed installations, of all and of each topic about which they have a choice.
    ///
    /// - Parameters:
    ///   - app: an expression.
    ///   - rows: a SELECT of `topics`, `cell`, `expires_at`, `active` and `installations`.
    ///   - choices: how the installations with a choice change, if that is not `installations`.
    static func insert(
        into app: PostgresSQL = "$1", from rows: PostgresSQL, choices: PostgresSQL = "r.installations"
    ) -> PostgresSQL {
        """
        INSERT INTO rollup_delta (app_id, transaction_id, topic, cell, expires_at, active, installations)
            SELECT \(sql: app), \(sql: transactionID), topic, cell, expires_at, sum(active), sum(installations)
            FROM (
                SELECT t.topic, r.cell, r.expires_at, r.active,
                    CASE WHEN t.topic = 0 THEN r.installations ELSE \(sql: choices) END AS installations
                FROM (\(sql: rows)) AS r CROSS JOIN LATERAL unnest(0 || r.topics) AS t (topic)) AS d
            GROUP BY topic, cell, expires_at HAVING sum(active) <> 0 OR sum(installations) <> 0
        """
    }

    /// The writing transaction, as deltas name it.
    static let transactionID: PostgresSQL = "(SELECT pg_current_xact_id()::text::bigint)"
}
