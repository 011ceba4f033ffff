import PostgresClient
import PushRegistry

/// Rows of a narrow table that the night job forgets.
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
        condition: "t.left_at <= b.since", haveDigests: true)

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

    func decode(_ row: PostgresRow, from first: Int = 0) throws -> Key {
        try columns.indices.map { try row.decode(first + $0) }
    }
}
