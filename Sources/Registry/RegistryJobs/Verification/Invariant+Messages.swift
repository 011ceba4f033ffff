import PostgresClient

/// Receipts and the sums of messages.
extension Invariant {
    static let messages = [
        Invariant(
            "receipt-events", "55", "opened and dismissed imply delivered; the added events are among the events",
            """
            SELECT app_id || '/' || message || '/' || installation FROM receipt
            WHERE events & 48 <> 0 AND events & 8 = 0 OR added & ~events <> 0 OR events NOT BETWEEN 1 AND 63
            """),
        Invariant(
            "receipt-target", "57", "a recorded target has an installation, a time and a cell, and is counted",
            """
            SELECT app_id || '/' || message || '/' || installation FROM receipt
            WHERE (handed_out_at IS NULL) <> (install_id IS NULL) OR user_id IS NOT NULL AND install_id IS NULL
                OR handed_out_at IS NOT NULL AND (cell IS NULL OR events & 1 = 0)
            """),
        Invariant(
            "message-sums", "71", "of a valid message, the sums count each receipt's event once",
            """
            SELECT concat_ws('/', m.app_id, m.number)
            FROM message m
                LEFT JOIN (
                    SELECT app_id, message, count(*) FILTER (WHERE events & 2 <> 0) AS accepted,
                        count(*) FILTER (WHERE events & 4 <> 0) AS failed,
                        count(*) FILTER (WHERE events & 8 <> 0) AS delivered,
                        count(*) FILTER (WHERE events & 16 <> 0) AS opened,
                        count(*) FILTER (WHERE events & 32 <> 0) AS dismissed
                    FROM receipt GROUP BY app_id, message) AS c ON c.app_id = m.app_id AND c.message = m.number
                LEFT JOIN (
                    SELECT app_id, message, sum(accepted) AS accepted, sum(failed) AS failed,
                        sum(delivered) AS delivered, sum(opened) AS opened, sum(dismissed) AS dismissed
                    FROM (
                        SELECT app_id, message, accepted, failed, delivered, opened, dismissed FROM message_sum
                        UNION ALL
                        SELECT app_id, message, accepted, failed, delivered, opened, dismissed
                        FROM message_delta d JOIN rollup_state s USING (app_id)
                        WHERE d.transaction_id >= s.message_horizon) AS parts
                    GROUP BY app_id, message) AS s ON s.app_id = m.app_id AND s.message = m.number
            WHERE m.receipts_until > now() AND (
                coalesce(c.accepted, 0), coalesce(c.failed, 0), coalesce(c.delivered, 0), coalesce(c.opened, 0),
                coalesce(c.dismissed, 0)) <> (
                coalesce(s.accepted, 0), coalesce(s.failed, 0), coalesce(s.delivered, 0), coalesce(s.opened, 0),
                coalesce(s.dismissed, 0))
            """),
        Invariant(
            "message-minutes", "56", "a message's sums by time are its sums by cell",
            """
            SELECT concat_ws('/', app_id, message)
            FROM (
                SELECT app_id, message, sum(delivered) AS delivered, sum(opened) AS opened, sum(dismissed) AS dismissed
                FROM message_sum GROUP BY app_id, message) AS s
            FULL JOIN (
                SELECT app_id, message, sum(delivered) AS delivered, sum(opened) AS opened, sum(dismissed) AS dismissed
                FROM message_minute GROUP BY app_id, message) AS m USING (app_id, message)
            WHERE (coalesce(s.delivered, 0), coalesce(s.opened, 0), coalesce(s.dismissed, 0))
                <> (coalesce(m.delivered, 0), coalesce(m.opened, 0), coalesce(m.dismissed, 0))
            """),
        Invariant(
            "signing-key", "95", "every app has a key that signs",
            "SELECT identifier FROM app WHERE NOT EXISTS (SELECT FROM app_signing_key k WHERE k.app_id = app.id)"),
    ]
}

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
