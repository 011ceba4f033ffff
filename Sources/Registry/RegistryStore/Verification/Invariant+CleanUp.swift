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
