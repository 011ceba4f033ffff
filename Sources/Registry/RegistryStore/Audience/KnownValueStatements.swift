import PostgresClient
import PushRegistry

/// The SQL that finds unknown values of a filter. `$1` is the app.
enum KnownValueStatements {
    /// A locale is known if an installation has a locale that it includes: `de` because of `de_DE`. In the collation of
    /// the texts, a grave accent follows the underscore.
    static let unknown = PreparedSQL(
        """
        SELECT v.position
        FROM unnest($2::text[], $3::boolean[]) WITH ORDINALITY AS v (text, is_locale, position)
        WHERE NOT EXISTS (SELECT FROM rollup_text t WHERE t.app_id = $1 AND t.text = v.text)
            AND NOT (v.is_locale AND EXISTS (
                SELECT FROM rollup_text t
                WHERE t.app_id = $1 AND t.text > v.text || '_' AND t.text < v.text || '`'))
        ORDER BY v.position
        """)
}
