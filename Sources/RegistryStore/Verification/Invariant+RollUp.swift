import PostgresClient

extension Invariant {
    static let rollUp = [
        Invariant(
            "rollup-cells", "R13", "the cell of an installation has the values of the installation",
            """
            SELECT i.app_id || '/' || i.install_id
            FROM installation i LEFT JOIN rollup_cell c ON c.app_id = i.app_id AND c.number = i.cell
            \(sql: RollUpRebuildStatements.cellTexts)
            WHERE (\(sql: RollUpRebuildStatements.cellFits)) IS NOT TRUE
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
            "rollup-marginals", "R13", "levels are the sums of their cells (rebuild-rollup repairs them)",
            """
            \(sql: levels)
            UNION ALL
            SELECT concat_ws('/', b.app_id, 'cell ' || b.cell) || ' is counted as another'
            FROM (\(sql: wrongRows)) AS b
            UNION ALL
            SELECT concat_ws('/', app_id, 'level ' || level) || ' has another size'
            FROM (\(sql: RollUpRebuildStatements.sizes(where: "true"))) AS s
            FULL JOIN (SELECT app_id, level, reachable FROM rollup_size WHERE reachable <> 0) AS r
                USING (app_id, level, reachable)
            WHERE s IS NULL OR r IS NULL
            """),
        Invariant(
            "rollup-horizon", "R13", "no delta is older than the horizon of folded deltas",
            """
            WITH bound AS MATERIALIZED (SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS transaction_id)
            SELECT 'app ' || d.app_id || ', transaction ' || min(d.transaction_id) || ': ' || count(*) || ' deltas'
            FROM rollup_delta d JOIN rollup_state s ON s.app_id = d.app_id CROSS JOIN bound b
            WHERE d.transaction_id < s.horizon AND s.horizon <= b.transaction_id
            GROUP BY d.app_id
            """),
        Invariant(
            "rollup-state", "R13", "each app has the row that folds lock and inserts on Citus read",
            "SELECT 'app ' || id FROM app WHERE id <> ALL (ARRAY(SELECT app_id FROM rollup_state))"),
        Invariant(
            "rollup-empty", "R13", "a row that counts nothing is removed",
            RollUpLevel.all.map { level in
                """
                SELECT \(sql: PostgresSQL(literal: level.name)) || ' of app ' || app_id FROM \(sql: level.table)
                WHERE reachable = 0 AND active = 0 AND installations = 0
                """ as PostgresSQL
            }.joined(separator: " UNION ALL ")),
    ]

    private static let time: PostgresSQL = "(SELECT greatest(latest, now()) FROM registry_clock)"

    private static let wrongRows = RollUpLevel.all.filter(\.isByCell)
        .map { RollUpRebuildStatements.wrongRows(of: $0, where: "true") }.joined(separator: " UNION ALL ")

    private static let levels = RollUpLevel.all.filter { !$0.isByCell }.map { level in
        """
        SELECT concat_ws('/', app_id, 'level ' || \(sql: PostgresSQL(literal: level.name)), \
        \(sql: level.columns.joined(separator: ", "))) || ' misses ' || installations
        FROM (\(sql: RollUpRebuildStatements.drift(of: level, where: "true"))) AS d
        """ as PostgresSQL
    }.joined(separator: " UNION ALL ")
}
