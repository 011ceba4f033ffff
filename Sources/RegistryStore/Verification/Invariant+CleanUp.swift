import PostgresClient

extension Invariant {
    static let cleanUp = [
        Invariant(
            "cleanup-change", "20", "no data is kept to restore an installation that was deleted",
            """
            SELECT c.app_id || '/' || c.install_id FROM cleanup_change c
            WHERE NOT EXISTS (SELECT FROM installation i WHERE i.app_id = c.app_id AND i.install_id = c.install_id)
            """),
        Invariant(
            "cleanup-step", "20", "a token or a session is kept only of an installation that lost one",
            """
            SELECT app_id || '/' || install_id FROM cleanup_change
            WHERE (step = 'superseded') <> (token IS NOT NULL) OR (step = 'sessionEnded') <> (session_id IS NOT NULL)
            """),
        Invariant(
            "cleanup-result", "R11", "an app that the breaker stopped was not changed",
            """
            SELECT 'run ' || run_id || ', app ' || app_id FROM cleanup_result
            WHERE refused AND superseded + unregistered + session_ended + stale + purged > 0
            """),
    ]
}
