import PostgresClient
import PushRegistry

/// The SQL that creates cells of the roll-up: `PUT …/installations/{id}`, where a combination is new to this process
/// (R13). `$1` is the app.
package enum RollUpCellStatements {
    /// Returns the number of cells without those that only records of past days use, and how many of the newest were
    /// created in the last hour.
    ///
    /// - Parameter newest: how many of them are looked at.
    package static func count(of app: AppNumber, newest: Int64 = 0) -> PostgresStatement {
        countSQL(app.rawValue, newest)
    }

    /// PUT …/installations/{installId}, import (R13): counts the cells of an app, and new ones.
    private static let countSQL = PreparedSQL(
        """
        SELECT count(*) FILTER (WHERE unused_since IS NULL OR recorded_on IS NULL), (
            SELECT count(*) FROM (
                SELECT created_at FROM rollup_cell WHERE app_id = $1 ORDER BY number DESC LIMIT $2) AS c
            WHERE created_at > now() - interval '1 hour')
        FROM rollup_cell WHERE app_id = $1
        """)

    /// Removes the marks of the texts `$2`. A text whose deletion commits first is missing afterwards.
    static let useTexts = PreparedSQL(
        """
        UPDATE rollup_text SET unused_since = NULL WHERE app_id = $1 AND number IN (
            SELECT number FROM rollup_text WHERE app_id = $1 AND text = ANY ($2) AND unused_since IS NOT NULL
            ORDER BY number FOR UPDATE)
        """)

    /// PUT …/installations/{installId}, import (R13): draws the numbers of $1 texts and $2 cells.
    static let draw = PreparedSQL(
        """
        SELECT ARRAY(SELECT nextval('rollup_text_number_seq') FROM generate_series(1, $1::bigint)),
            ARRAY(SELECT nextval('rollup_cell_number_seq') FROM generate_series(1, $2::bigint))
        """)

    /// In the order of texts, so that two services that add the same ones cannot deadlock.
    static let addTexts = PreparedSQL(
        """
        INSERT INTO rollup_text (app_id, number, text, version_key) OVERRIDING SYSTEM VALUE
        SELECT \(sql: AppRow.app), k.number, k.text, k.key::bigint[]
        FROM \(sql: AppRow.beside("unnest($2::text[], $3::text[], $4::bigint[]) AS k (text, key, number)"))
        ORDER BY k.text COLLATE "C"
        ON CONFLICT DO NOTHING
        """)

    /// PUT …/installations/{installId}, import (R13): reads the numbers of texts.
    static let texts = PreparedSQL(
        "SELECT text, number FROM rollup_text WHERE app_id = $1 AND text = ANY ($2)")

    /// PUT …/installations/{installId}, import (R13): reads which time zones PostgreSQL knows.
    static let zones = PreparedSQL(
        "SELECT name FROM known_time_zone WHERE name = ANY ($1)")

    /// The same of cells.
    static let useCells = PreparedSQL(
        """
        UPDATE rollup_cell SET unused_since = NULL WHERE app_id = $1 AND number IN (
            SELECT r.number FROM \(sql: rows) JOIN rollup_cell r ON \(sql: isCell)
            WHERE r.unused_since IS NOT NULL ORDER BY r.number FOR UPDATE OF r)
        """)

    /// In the order of keys, so that two services that add the same cells cannot deadlock.
    static let addCells = PreparedSQL(
        """
        INSERT INTO rollup_cell (app_id, number, \(sql: columns)) OVERRIDING SYSTEM VALUE
        SELECT \(sql: AppRow.app), k.number, \(sql: columns)
        FROM \(sql: AppRow.beside("unnest(\(sql: arrays), $11::bigint[]) AS k (\(sql: columns), number)"))
        ORDER BY \(sql: columns)
        ON CONFLICT DO NOTHING
        """)

    /// Returns the position and the number of each cell; of a combination that has none, the overflow
    /// cell's, which is looked up only then.
    static let find = PreparedSQL(
        """
        SELECT k.position, coalesce(r.number, (
            SELECT o.number FROM rollup_cell o
            WHERE o.app_id = $1 AND o.locale_number = 0 AND o.zone_number = 0 AND o.spelling_number = 0
                AND o.system_number = 0 AND o.time_zone_offset = 0 AND o.provider = k.provider
                AND o.authorization_status = k.authorization_status
                AND o.authorization_assumed = k.authorization_assumed))
        FROM \(sql: rows)
        LEFT JOIN rollup_cell r ON \(sql: isCell)
        """)

    // MARK: Parts

    /// In the order of keys.
    private static let columns: PostgresSQL = """
        provider, authorization_status, locale_number, zone_number, spelling_number, system_number, time_zone_offset, \
        version_number, authorization_assumed
        """

    /// A condition: `r` is the cell of the row `k`.
    private static let isCell: PostgresSQL = """
        r.app_id = $1 AND r.locale_number = k.locale_number AND r.zone_number = k.zone_number
            AND r.spelling_number = k.spelling_number AND r.system_number = k.system_number
            AND r.time_zone_offset = k.time_zone_offset AND r.provider = k.provider
            AND r.authorization_status = k.authorization_status AND r.authorization_assumed = k.authorization_assumed
        """

    /// The parameters as rows.
    private static let rows: PostgresSQL =
        "unnest(\(sql: arrays)) WITH ORDINALITY AS k (\(sql: columns), position)"

    private static let arrays: PostgresSQL = """
        $2::text[]::provider[], $3::text[]::authorization_status[], $4::bigint[], $5::bigint[], $6::bigint[], \
        $7::bigint[], $8::integer[], $9::bigint[], $10::boolean[]
        """
}

/// What a process may cache of a database belongs to one run of one server, and to its present tables. A failover to a
/// server that lacks the newest transactions, and a restored dump, use numbers of cells and transactions again.
/// The night job deletes unused cells an hour after it has changed `rollup_marked_at` (`UnusedCells`).
package enum DatabaseIdentityStatements {
    /// An expression.
    static let sql: PostgresSQL = """
        concat_ws('.', extract(epoch FROM pg_postmaster_start_time()), (
                SELECT oid FROM pg_database WHERE datname = current_database()),
                pg_relation_filenode('rollup_cell'), pg_relation_filenode('rollup_delta'),
                pg_sequence_last_value('rollup_marked_at'))
        """

    /// PUT …/installations/{installId}, some times a second (R13): checks that the database is the same.
    package static let identity = PreparedSQL(
        "SELECT \(sql: sql)")
}
