import PostgresClient
import PushRegistry

/// The SQL that creates cells of the roll-up: `PUT …/installations/{id}`, where a combination is new to this process
/// (R13).
enum RollUpCellStatements {
    /// How many cells an app has.
    static func count(of app: AppNumber) -> PostgresStatement { PostgresStatement(countSQL, app.rawValue) }

    private static let countSQL = PreparedSQL("SELECT count(*) FROM rollup_cell WHERE app_id = $1")

    /// One unit; its last statement answers the position and the number of each cell.
    ///
    /// - Parameter mayAdd: whether the app may have more cells. Otherwise new combinations are found in overflow cells.
    static func create(_ keys: [RollUpCells.Key], mayAdd: Bool) -> [PostgresStatement] {
        let app = keys[0].app.rawValue
        let versions = keys.map { Version($0.systemVersion)?.canonicalText ?? "" }
        let texts = Set(keys.flatMap { [$0.locale, $0.zone, $0.systemName, $0.systemVersion] } + versions).sorted()
        let cells = { (prepared: PreparedSQL) in
            PostgresStatement(
                prepared, app, keys.map(\.provider.rawValue), keys.map(\.authorization.rawValue), keys.map(\.locale),
                keys.map(\.zone), keys.map(\.offset), keys.map(\.systemName), keys.map(\.systemVersion), versions)
        }
        return [
            PostgresStatement(addTexts, app, texts, texts.map { Version($0)?.arrayLiteral }),
            cells(mayAdd ? addCells : addOverflowCells), cells(find),
        ]
    }

    /// In the order of texts, so that two services that add the same ones do not wait for each other in a circle.
    private static let addTexts = PreparedSQL(
        """
        INSERT INTO rollup_text (app_id, text, version_key)
        SELECT $1, k.text, k.version_key
        FROM unnest($2::text[], $3::text[]) AS n (text, key)
        CROSS JOIN LATERAL (SELECT n.text, n.key::bigint[] AS version_key) AS k
        WHERE NOT EXISTS (SELECT FROM rollup_text t WHERE t.app_id = $1 AND t.text = k.text)
        ORDER BY k.text COLLATE "C"
        ON CONFLICT DO NOTHING
        """)

    /// The parameters as rows: a cell with the numbers of its texts, and 0 for the offset of a known zone.
    private static let wanted: PostgresSQL = """
        SELECT k.position, k.provider, k.authorization_status, l.number AS locale_number, z.number AS zone_number,
            s.number AS system_number, v.number AS spelling_number,
            CASE WHEN k.version = '' THEN 0 ELSE c.number END AS version_number,
            CASE WHEN EXISTS (SELECT FROM known_time_zone o WHERE o.name = k.zone) THEN 0 ELSE k.sent_offset END
                AS time_zone_offset
        FROM unnest($2::text[]::provider[], $3::text[]::authorization_status[], $4::text[], $5::text[], $6::integer[],
                $7::text[], $8::text[], $9::text[]) WITH ORDINALITY
            AS k (provider, authorization_status, locale, zone, sent_offset, system, spelling, version, position)
        CROSS JOIN LATERAL (SELECT number FROM rollup_text WHERE app_id = $1 AND text = k.locale OFFSET 0) AS l
        CROSS JOIN LATERAL (SELECT number FROM rollup_text WHERE app_id = $1 AND text = k.zone OFFSET 0) AS z
        CROSS JOIN LATERAL (SELECT number FROM rollup_text WHERE app_id = $1 AND text = k.system OFFSET 0) AS s
        CROSS JOIN LATERAL (SELECT number FROM rollup_text WHERE app_id = $1 AND text = k.spelling OFFSET 0) AS v
        CROSS JOIN LATERAL (SELECT number FROM rollup_text WHERE app_id = $1 AND text = k.version OFFSET 0) AS c
        """

    private static let key: PostgresSQL = """
        locale_number, zone_number, spelling_number, system_number, time_zone_offset, provider, authorization_status
        """

    private static let isCell: PostgresSQL = """
        r.app_id = $1 AND r.locale_number = w.locale_number AND r.zone_number = w.zone_number
            AND r.spelling_number = w.spelling_number AND r.system_number = w.system_number
            AND r.time_zone_offset = w.time_zone_offset AND r.provider = w.provider
            AND r.authorization_status = w.authorization_status
        """

    private static let addCells = PreparedSQL(
        """
        INSERT INTO rollup_cell (app_id, version_number, \(sql: key))
        SELECT DISTINCT $1::integer, w.version_number, \(sql: key)
        FROM (\(sql: wanted)) AS w
        WHERE NOT EXISTS (SELECT FROM rollup_cell r WHERE \(sql: isCell))
        ORDER BY \(sql: key)
        ON CONFLICT DO NOTHING
        """)

    private static let addOverflowCells = PreparedSQL(
        """
        INSERT INTO rollup_cell (app_id, version_number, \(sql: key))
        SELECT DISTINCT $1::integer, 0, 0, 0, 0, 0, 0, w.provider, w.authorization_status
        FROM (\(sql: wanted)) AS w
        WHERE NOT EXISTS (SELECT FROM rollup_cell r WHERE \(sql: isCell))
        ORDER BY w.provider, w.authorization_status
        ON CONFLICT DO NOTHING
        """)

    private static let find = PreparedSQL(
        """
        SELECT w.position, coalesce(
            (SELECT r.number FROM rollup_cell r WHERE \(sql: isCell)),
            (SELECT r.number FROM rollup_cell r
                WHERE r.app_id = $1 AND r.locale_number = 0 AND r.zone_number = 0 AND r.spelling_number = 0
                    AND r.system_number = 0 AND r.time_zone_offset = 0 AND r.provider = w.provider
                    AND r.authorization_status = w.authorization_status))
        FROM (\(sql: wanted)) AS w
        """)
}

extension Version {
    /// Canonical: version 17.0 is `17`, and version 0 is `0`.
    var canonicalText: String { components.isEmpty ? "0" : components.map(String.init).joined(separator: ".") }

    /// As PostgreSQL reads a `bigint[]`.
    fileprivate var arrayLiteral: String { "{" + components.map(String.init).joined(separator: ",") + "}" }
}
