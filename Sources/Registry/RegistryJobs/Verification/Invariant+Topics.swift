import PostgresClient
import RegistryStore

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
