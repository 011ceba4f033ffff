import PostgresClient
import RegistryStore

extension Invariant {
    static let rollUp = [
        Invariant(
            "rollup-cells", "R13", "the cell of an installation has the values of the installation",
            """
            SELECT i.app_id || '/' || i.install_id
            FROM installation i LEFT JOIN rollup_cell c ON c.app_id = i.app_id AND c.number = i.cell
            \(sql: RollUpAssignmentStatements.cellTexts)
            WHERE (\(sql: RollUpAssignmentStatements.cellFits)) IS NOT TRUE
            """),
        Invariant(
            "rollup-recount", "R13", "the roll-up has the counts of a recount (rebuild-rollup repairs it)",
            """
            SELECT concat_ws('/', app_id, 'topic ' || nullif(topic, 0), 'cell ' || cell, expires_at)
                || ' misses ' || active || ' active of '
                || installations
            FROM (\(sql: RollUpRebuildStatements.corrections(where: "true", at: time))) AS d
            """),
        Invariant(
            "rollup-horizon", "R13", "deltas are folded up to a transaction that has ended",
            """
            SELECT 'app ' || app_id || ': ' || horizon || ', ' || message_horizon FROM rollup_state
            WHERE greatest(horizon, message_horizon) > (SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint)
            """),
        Invariant(
            "rollup-state", "R13", "each app has the row that folds lock and inserts read",
            """
            SELECT 'app ' || id FROM app
            WHERE deleting_since IS NULL AND id <> ALL (ARRAY(SELECT app_id FROM rollup_state))
            """),
        Invariant(
            "rollup-empty", "R13", "a row that counts nothing is removed",
            """
            SELECT 'cell ' || cell || ' of app ' || app_id FROM rollup_cube
            WHERE reachable = 0 AND active = 0 AND installations = 0
            """),
        Invariant(
            "rollup-expiry", "R13", "only sessions in cells that may be reachable expire",
            """
            SELECT 'cell ' || e.cell || ' of app ' || e.app_id
            FROM rollup_expiry e LEFT JOIN rollup_cell c ON c.app_id = e.app_id AND c.number = e.cell
            WHERE c.number IS NULL OR NOT \(sql: RollUpLayer.reaches("e.topic"))
            """),
    ]

    private static let time: PostgresSQL = "(SELECT greatest(max(swept_until), now()) FROM rollup_state)"
}
