import PostgresClient

extension Invariant {
    static let cleanUp = [
        Invariant(
            "cleanup-result", "R11", "an app that the breaker stopped was not changed",
            """
            SELECT 'run ' || run_id || ', app ' || app_id FROM cleanup_result
            WHERE refused AND superseded + unregistered + session_ended + stale + purged > 0
            """)
    ]
}

extension Invariant {
    /// On Citus only. It may break by a migration that creates a table.
    static let distribution = Invariant(
        "distribution", "decision 10",
        "every table with rows of apps is distributed (after stopping all services, distribute repairs it)",
        """
        SELECT t.name FROM unnest(\(Distribution.tables + Distribution.referenceTables)) AS t (name)
        WHERE NOT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = to_regclass(t.name))
        """)
}
