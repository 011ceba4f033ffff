import PostgresClient
import PushRegistry

/// The SQL that finds unknown values of a filter, and values that are near them. `$1` is the app.
enum KnownValueStatements {
    static let named =
        [NamedStatement("unknown", unknown)]
        + names.map { NamedStatement("names.\($0.key.rawValue)", $0.value.sql) }.sorted { $0.name < $1.name }

    /// A locale is known if an installation has a locale that it includes: `de` because of `de_DE`. In the collation of
    /// the texts, a grave accent follows the underscore.
    static let unknown = PreparedSQL(
        serving: "POST …/audience/count and breakdown: finds values of the filter that no installation has.",
        """
        SELECT v.position
        FROM unnest($2::text[], $3::boolean[]) WITH ORDINALITY AS v (text, is_locale, position)
        WHERE NOT EXISTS (SELECT FROM rollup_text t WHERE t.app_id = $1 AND t.text = v.text)
            AND NOT (v.is_locale AND EXISTS (
                SELECT FROM rollup_text t
                WHERE t.app_id = $1 AND t.text > v.text || '_' AND t.text < v.text || '`'))
        ORDER BY v.position
        """)

    /// How the values of a field are read from the roll-up.
    struct Names: Sendable {
        let sql: PreparedSQL
        /// The text of a value in the roll-up.
        let text: @Sendable (AudienceValue) -> String?

        init(
            _ field: AudienceField, _ number: PostgresSQL, in level: PostgresSQL,
            text: @escaping @Sendable (AudienceValue) -> String?
        ) {
            let limit = PostgresSQL(trusted: "\(KnownValues.namesMax)")
            let newest = PostgresSQL(trusted: "\(KnownValues.newestCellsMax)")
            sql = PreparedSQL(
                serving: """
                    POST …/audience/count and breakdown: reads the most frequent values of \(field.rawValue), for \
                    the nearest one.
                    """,
                """
                SELECT t.text
                FROM (
                    (SELECT \(sql: number) AS number FROM \(sql: level)
                     WHERE app_id = $1 GROUP BY 1 ORDER BY sum(installations) DESC LIMIT \(sql: limit))
                    UNION
                    -- The counts of new cells may not be folded yet.
                    SELECT \(sql: number) FROM (
                        SELECT \(sql: number) FROM rollup_cell
                        WHERE app_id = $1 ORDER BY rollup_cell.number DESC LIMIT \(sql: newest)) AS newest) AS n
                JOIN rollup_text t ON t.app_id = $1 AND t.number = n.number
                """)
            self.text = text
        }
    }

    static let names: [AudienceField: Names] = [
        .locale: Names(.locale, "locale_number", in: "rollup_locale") {
            if case .locale(let locale) = $0 { locale.text } else { nil }
        },
        .timeZone: Names(.timeZone, "zone_number", in: "rollup_zone") {
            if case .text(let text) = $0 { text } else { nil }
        },
        .systemName: Names(.systemName, "system_number", in: "rollup_version") {
            if case .text(let text) = $0 { text } else { nil }
        },
        .osVersion: Names(.osVersion, "version_number", in: "rollup_version") {
            if case .version(let version) = $0 { version.canonicalText } else { nil }
        },
    ]
}
