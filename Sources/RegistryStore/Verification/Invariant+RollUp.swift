import PostgresClient

extension Invariant {
    static let rollUp = [
        Invariant(
            "rollup-recount", "R13", "the roll-up counts what a recount does (rebuild-rollup repairs it)",
            """
            SELECT concat_ws('/', app_id, provider, locale, time_zone_id, system_name, system_version,
                authorization_status, state) || ' misses ' || count
            FROM rollup_drift
            """),
        Invariant(
            "rollup-marginals", "R13", "marginals are the sums of their cells (rebuild-rollup repairs them)",
            """
            SELECT concat_ws('/', app_id, 'level ' || level, provider, locale_number, zone_number, time_zone_offset,
                version_number, system_number, spelling_number, authorization_status, state) || ' misses ' || installations
            FROM rollup_marginal_drift
            UNION ALL
            SELECT concat_ws('/', app_id, 'level ' || level) || ' has another size' FROM rollup_size_drift
            """),
        Invariant(
            "rollup-triggers", "R13", "every change of installations reaches the roll-up",
            """
            SELECT wanted
            FROM unnest(ARRAY['rollup_insert', 'rollup_update', 'rollup_delete', 'rollup_truncate']) AS wanted
            WHERE NOT EXISTS (
                SELECT FROM pg_trigger
                WHERE tgrelid = to_regclass('installation') AND tgname = wanted AND tgenabled IN ('O', 'A'))
            """),
        Invariant(
            "rollup-horizon", "R13", "no delta is older than what is folded",
            """
            SELECT 'transaction ' || min(transaction_id::text::bigint) || ': ' || count(*) || ' deltas'
            FROM rollup_delta
            WHERE transaction_id < rollup_horizon() HAVING count(*) > 0
            """),
    ]
}
