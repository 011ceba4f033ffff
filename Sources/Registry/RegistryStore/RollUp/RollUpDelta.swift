import PostgresClient
import PushRegistry

/// The changes of one transaction in the roll-up, summed by cell and session expiry: of all installations, and of those
/// with a choice about a topic.
package struct RollUpDelta: Sendable {
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

    package init() {}

    /// Adds an installation to its cell, or removes it.
    mutating func add(_ installation: Installation, in cell: Int64, step: Int64) {
        let isActive = installation.state == .active
        add(
            Change(active: isActive ? step : 0, installations: step), in: cell,
            expiringAt: isActive ? installation.owner?.session?.expiresAt : nil, topics: installation.topics)
    }

    /// Adds an active installation, or removes it.
    package mutating func addActive(
        in cell: Int64, expiringAt expiresAt: Timestamp?, topics: TopicChoices, step: Int64 = 1
    ) {
        add(Change(active: step, installations: step), in: cell, expiringAt: expiresAt, topics: topics)
    }

    private mutating func add(
        _ change: Change, in cell: Int64, expiringAt expiresAt: Timestamp?, topics: TopicChoices
    ) {
        add(change, to: 0, in: cell, expiringAt: expiresAt)
        guard !topics.isEmpty else { return }
        for topic in topics.codes { add(change, to: topic, in: cell, expiringAt: expiresAt) }
    }

    private mutating func add(_ change: Change, to topic: Int32, in cell: Int64, expiringAt expiresAt: Timestamp?) {
        let key = Key(topic: topic, cell: cell, expiresAt: expiresAt)
        changes[key, default: Change()].active += change.active
        changes[key, default: Change()].installations += change.installations
    }

    /// Nil where all changes cancel out.
    package func statement(in app: AppNumber) -> PostgresStatement? {
        let rows = changes.filter { $0.value != Change() }
        guard !rows.isEmpty else { return nil }
        return RollUpDeltaStatements.append(
            app.rawValue, rows.map(\.key.topic), rows.map(\.key.cell), rows.map { $0.key.expiresAt?.postgres },
            rows.map(\.value.active), rows.map(\.value.installations))
    }
}

/// The SQL of deltas (R13). Statements that change installations write the deltas themselves, by `insert`.
package enum RollUpDeltaStatements {
    /// Every call that changes installations under locks (R13): writes deltas of counts.
    static let append = PreparedSQL(
        """
        INSERT INTO rollup_delta (app_id, transaction_id, topic, cell, expires_at, active, installations)
        SELECT \(sql: AppRow.app), pg_current_xact_id()::text::bigint, k.*
        FROM \(sql: AppRow.beside("""
            unnest($2::integer[], $3::bigint[], $4::timestamptz[], $5::bigint[], $6::bigint[]) AS k
            """))
        """)

    /// An INSERT: the deltas of changed installations, of all and of each topic about which they have a choice.
    ///
    /// - Parameters:
    ///   - app: an expression.
    ///   - rows: a SELECT of `topics`, `cell`, `expires_at`, `active` and `installations`.
    package static func insert(into app: PostgresSQL = "$1", from rows: PostgresSQL) -> PostgresSQL {
        """
        INSERT INTO rollup_delta (app_id, transaction_id, topic, cell, expires_at, active, installations)
            SELECT \(sql: app), \(sql: transactionID), topic, cell, expires_at, sum(active), sum(installations)
            FROM (
                SELECT unnest(0 || r.topics), r.cell, r.expires_at, r.active, r.installations FROM (\(sql: rows)) AS r
            ) AS d (topic, cell, expires_at, active, installations)
            GROUP BY topic, cell, expires_at HAVING sum(active) <> 0 OR sum(installations) <> 0
        """
    }

    /// Every call that changes installations or their typed tokens (R13): counts the tokens that are handed out. The
    /// rules do not load them. So the transaction subtracts them before its writes, and adds them afterwards. The locks
    /// or the revisions of the installations protect them. Only the night job deletes some that have expired meanwhile;
    /// these count as nothing.
    ///
    /// - Parameter step: -1 before, 1 afterwards.
    package static func tokens(of ids: [InstallID], step: Int64, in app: AppNumber) -> PostgresStatement {
        tokensSQL(app.rawValue, ids.map(\.rawValue), step)
    }

    private static let tokensSQL = PreparedSQL(
        """
        INSERT INTO rollup_delta (app_id, transaction_id, topic, cell, expires_at, active, installations)
        SELECT i.app_id, pg_current_xact_id()::text::bigint, i.topic, i.cell, i.expires_at, $3::bigint * count(*), 0
        FROM \(sql: RollUpLayer.handedOut)
        WHERE i.app_id = $1 AND i.install_id = ANY ($2)
        GROUP BY i.app_id, i.topic, i.cell, i.expires_at
        """)

    /// The writing transaction, as deltas name it.
    package static let transactionID: PostgresSQL = "(SELECT pg_current_xact_id()::text::bigint)"
}
