import PostgresClient

extension Invariant {
    static let notifications = [
        Invariant(
            "notification-epoch", "65", "numbers are of the present epoch of an installation",
            """
            SELECT c.app_id || '/' || c.install_id FROM notification_counter c
            WHERE NOT EXISTS (
                SELECT FROM installation i
                WHERE i.app_id = c.app_id AND i.install_id = c.install_id AND i.epoch = c.epoch)
            """),
        Invariant(
            "notification-counter", "65", "a notification and a stored dedup id belong to a counter",
            """
            SELECT w.app_id || '/' || w.install_id
            FROM (
                SELECT app_id, install_id FROM notification
                UNION
                SELECT app_id, install_id FROM notification_dedup) AS w
            WHERE NOT EXISTS (
                SELECT FROM notification_counter c WHERE c.app_id = w.app_id AND c.install_id = w.install_id)
            """),
        Invariant(
            "notification-number", "61",
            "numbers are at most the last one; acknowledged and dropped notifications do not wait",
            """
            SELECT n.app_id || '/' || n.install_id || ' number ' || n.number
            FROM notification n JOIN notification_counter c USING (app_id, install_id)
            WHERE n.number <= greatest(c.acknowledged, c.dropped) OR n.number > c.last
            UNION ALL
            SELECT d.app_id || '/' || d.install_id || ' number ' || d.number
            FROM notification_dedup d JOIN notification_counter c USING (app_id, install_id)
            WHERE d.number > c.last OR d.number < 1 OR d.previous >= d.number
            """),
        Invariant(
            "notification-collapse", "63", "no two notifications of an installation wait with the same collapseId",
            """
            SELECT app_id || '/' || install_id FROM notification
            WHERE collapse_id IS NOT NULL GROUP BY app_id, install_id, collapse_id HAVING count(*) > 1
            """),
        Invariant(
            "notification-expiry", "60", "a notification waits for at most 28 days",
            """
            SELECT app_id || '/' || install_id || ' number ' || number FROM notification
            WHERE expires_at > posted_at + interval '28 days'
            """),
    ]
}
