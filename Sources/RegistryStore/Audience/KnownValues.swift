import PostgresClient
import PushRegistry

/// Finds the values of a filter that no installation has. Locales, time zones, systems and versions are looked up in
/// `rollup_text`, which keeps a text after its last installation has gone. Values of other fields are not looked up:
/// that would require a scan.
struct KnownValues {
    /// The number of values of one filter that are looked up; the rest counts as known.
    static let lookedUpMax = 100
    /// The number of reported values.
    static let reportedMax = 10
    /// The nearest value is one of this many most frequent values of the field, or is in one of the newest cells.
    static let namesMax = 2_000
    static let newestCellsMax = 200

    private let app: AppNumber
    private let values: [(compared: ComparedValue, text: String, isLocale: Bool)]

    init(_ audience: Audience) {
        app = audience.app
        var seen: Set<ComparedValue> = []
        var values: [(ComparedValue, String, Bool)] = []
        for compared in audience.filter.comparedValues where values.count < Self.lookedUpMax {
            guard let text = Self.names[compared.field]?.text(compared.value), seen.insert(compared).inserted else {
                continue
            }
            values.append((compared, text, compared.field == .locale))
        }
        self.values = values
    }

    /// The statement that returns the positions of unknown values; nil if there is nothing to look up.
    var lookUp: PostgresStatement? {
        guard !values.isEmpty else { return nil }
        return PostgresStatement(Self.unknown, app.rawValue, values.map(\.text), values.map(\.isLocale))
    }

    /// The unknown values, from the result of `lookUp`. Reads the frequent values of their fields for the nearest ones.
    func unknown(_ rows: PostgresResult, _ connection: PostgresConnection) async throws -> [UnknownValue] {
        let unknown = try rows.prefix(Self.reportedMax).map { values[try $0.decode(0, as: Int.self) - 1] }
        guard !unknown.isEmpty else { return [] }
        let fields = Array(Set(unknown.map(\.compared.field)))
        let statements = fields.compactMap { Self.names[$0].map { PostgresStatement($0.sql, app.rawValue) } }
        let results = try await connection.execute(statements)
        var names: [AudienceField: [String]] = [:]
        for (field, rows) in zip(fields, results) { names[field] = try rows.map { try $0.decode(0) } }
        return await offLoop { [names] in
            unknown.map { value in
                UnknownValue(
                    value.compared, nearest: NearestName.of(value.text, among: names[value.compared.field] ?? []))
            }
        }
    }
}

// MARK: - SQL

extension KnownValues {
    static let named =
        [NamedStatement("unknown", unknown)]
        + names.map { NamedStatement("names.\($0.key.rawValue)", $0.value.sql) }.sorted { $0.name < $1.name }

    /// A locale is known if an installation has a locale that it includes: `de` because of `de_DE`. In the collation of
    /// the texts, a grave accent follows the underscore.
    private static let unknown = PreparedSQL(
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
    private struct Names: Sendable {
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

    private static let names: [AudienceField: Names] = [
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
