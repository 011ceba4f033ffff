import PostgresClient
import RegistryStore

/// Tombstones of logouts, and bindings that contradict them (R7).
///
/// A binding is correct if the tombstone of its session had expired when the binding began. The app's present policy
/// decides how long a tombstone counts: after it was prolonged, these checks may report a binding that was correct.
/// Whether a credential was older than a logout is not checked: the clock may have been set since.
extension Invariant {
    static let sessions = [
        Invariant(
            "session-ended", "R7", "no installation is bound to a session that has ended",
            """
            WITH \(sql: tombstones)
            SELECT i.app_id || '/' || i.install_id
            FROM session s JOIN installation i USING (app_id, session_id) JOIN policy p USING (app_id)
            WHERE i.registered_at < s.ended_at + p.tombstones
            """),
        Invariant(
            "user-logged-out", "R7", "no installation is bound to its user since before the user's logout",
            """
            SELECT i.app_id || '/' || i.install_id
            FROM user_guard u
            JOIN installation i ON i.app_id = u.app_id AND \(sql: UserDigest.sha256(of: "i.user_id")) = u.user_sha256
            JOIN installation_owner o
                ON o.app_id = i.app_id AND o.user_id = i.user_id AND o.install_id = i.install_id
            LEFT JOIN session s ON s.app_id = i.app_id AND s.session_id = i.session_id
            WHERE o.number < u.refused_number AND (s.kept_number IS NULL OR s.kept_number < u.refused_number)
            """),
        Invariant(
            "installation-logged-out", "R7", "no installation is bound to a user and session that logged out there",
            """
            WITH \(sql: tombstones)
            SELECT i.app_id || '/' || i.install_id
            FROM installation_logout l
            JOIN policy p ON p.app_id = l.app_id
            JOIN installation i ON i.app_id = l.app_id AND i.install_id = l.install_id
                AND i.session_id = l.session_id AND \(sql: UserDigest.sha256(of: "i.user_id")) = l.user_sha256
            WHERE i.registered_at < l.logged_out_at + p.tombstones
            """),
        Invariant(
            "user-digest", "20", "of a user who logged out only a SHA-256 is kept",
            """
            SELECT 'session ' || app_id || '/' || session_id FROM session WHERE octet_length(user_sha256) <> 32
            UNION ALL
            SELECT 'user of ' || app_id FROM user_guard WHERE octet_length(user_sha256) <> 32
            UNION ALL
            SELECT app_id || '/' || install_id FROM installation_logout WHERE octet_length(user_sha256) <> 32
            """),
    ]

    /// How long each app keeps tombstones, as a definition after WITH.
    private static let tombstones: PostgresSQL = """
        policy AS MATERIALIZED (
            SELECT id AS app_id, coalesce(policy ->> 'sessionTombstones', 'P400D')::interval AS tombstones FROM app)
        """
}

extension Invariant {
    /// Choices about deleted topics are ignored until the night job has removed them.
    static let topics = [
        Invariant(
            "topic-choices", "47",
            "an installation is subscribed by the choices on it, and by its user's about other topics",
            """
            WITH deleted AS MATERIALIZED (
                SELECT app_id, array_agg(number) || array_agg(-number) AS codes FROM deleted_topic GROUP BY app_id)
            SELECT i.app_id || '/' || i.install_id
            FROM installation i
                LEFT JOIN deleted d ON d.app_id = i.app_id
                LEFT JOIN (SELECT app_id, user_sha256, topics FROM user_guard WHERE topics IS NOT NULL) AS g
                    ON g.app_id = i.app_id AND g.user_sha256 = \(sql: UserDigest.sha256(of: "i.user_id"))
            WHERE (i.topics IS NOT NULL OR i.topic_choices IS NOT NULL OR g.topics IS NOT NULL)
                AND choices_without(i.topics, coalesce(d.codes, '{}'))
                    IS DISTINCT FROM choices_without(
                        merged_choices(i.topic_choices, g.topics), coalesce(d.codes, '{}'))
            """),
        Invariant(
            "topic-codes", "82", "each level has at most one choice about a topic, in the order of the numbers",
            """
            SELECT example
            FROM (
                SELECT app_id || '/' || install_id AS example, topics AS codes FROM installation
                UNION ALL
                SELECT app_id || '/' || install_id, topic_choices FROM installation
                UNION ALL
                SELECT 'user of ' || app_id, topics FROM user_guard) AS c
            WHERE codes IS NOT NULL AND NOT are_choices(codes)
            """),
        Invariant(
            "topic-deleted", "87", "the number of a deleted topic belongs to no other topic",
            "SELECT d.app_id || '/' || d.number FROM deleted_topic d JOIN topic t USING (app_id, number)"),
        Invariant(
            "topic-event", "91", "only changes of choices name topics, and only they may concern no installation",
            """
            SELECT 'event ' || id FROM token_event
            WHERE (event = 'topicsChanged') <> (topics IS NOT NULL)
                OR install_id IS NULL AND (event <> 'topicsChanged' OR provider IS NOT NULL OR state IS NOT NULL
                    OR generation_before IS NOT NULL OR generation_after IS NOT NULL)
                OR install_id IS NOT NULL AND num_nulls(provider, state, generation_before, generation_after) > 0
            """),
    ]
}
