import PostgresClient
import PushRegistry

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
