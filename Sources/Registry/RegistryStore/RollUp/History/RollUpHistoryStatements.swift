import PostgresClient
import PushRegistry

/// The SQL of the counts of past days (R13). `$1` is the app, `$2` the day or the days, as texts.
package enum RollUpHistoryStatements {
    // MARK: Recording

    /// Begins the transaction of a record.
    package static let snapshot = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"

    /// Clean-up (R13): reads which layers have counts, and the number of cells.
    static let layers = PreparedSQL(
        """
        SELECT ARRAY(
                SELECT 0 UNION SELECT topic FROM rollup_cube WHERE app_id = $1
                UNION SELECT topic FROM rollup_delta WHERE app_id = $1), (
            SELECT count(*) FROM rollup_cell WHERE app_id = $1)
        """)

    /// Clean-up (R13): reads what an earlier run counted on the day.
    static let recorded = PreparedSQL(
        "SELECT as_of FROM rollup_history WHERE app_id = $1 AND day = $2::text::date AND topic = 0")

    /// Clean-up (R13): makes room for a record that is nearer to the day's end.
    static let remove = PreparedSQL(
        "DELETE FROM rollup_history WHERE app_id = $1 AND day = $2::text::date")

    /// Clean-up (R13): records the counts of a layer: `$3` is the layer, `$4` the moment, `$5` are `RecordedCounts`.
    static let add = PreparedSQL(
        "INSERT INTO rollup_history (app_id, day, topic, as_of, counts) VALUES ($1, $2::text::date, $3, $4, $5)")

    /// Clean-up (R13): keeps the cells that a record names. Most of them were marked in the last month.
    static func mark(_ app: AppNumber, _ cells: [Int64], _ day: CalendarDay) -> PostgresStatement {
        markSQL(
            app.rawValue, cells, day.description,
            CalendarDay(of: day.start.preceding(by: RollUpRecording.renewal)).description)
    }

    private static let markSQL = PreparedSQL(
        """
        UPDATE rollup_cell SET recorded_on = $3::text::date
        WHERE app_id = $1 AND number = ANY ($2) AND (recorded_on >= $4::text::date) IS NOT TRUE
        """)

    /// Clean-up (R13): deletes the records of days before `$2`.
    static let forget = PreparedSQL("DELETE FROM rollup_history WHERE app_id = $1 AND day < $2::text::date")

    /// A condition on `rollup_cell`: a record that is kept may name the cell.
    package static let isRecorded: PostgresSQL = {
        let days = (AudienceTrend.retention.seconds + RollUpRecording.renewal.seconds) / 86_400 + 1
        return PostgresSQL(trusted: "(recorded_on >= (now() AT TIME ZONE 'UTC')::date - \(days)) IS TRUE")
    }()

    // MARK: Reading

    /// POST …/audience/count, breakdown and trend of past days: reads the records of the layers `$3`.
    static let records = PreparedSQL(
        """
        SELECT day::text, topic, as_of, counts FROM rollup_history
        WHERE app_id = $1 AND day = ANY ($2::text[]::date[]) AND day < (now() AT TIME ZONE 'UTC')::date
            AND topic = ANY ($3)
        ORDER BY day, topic
        """)

    /// POST …/audience/count, breakdown and trend of past days: reads cells `$2` that are new to the process.
    static let cells = PreparedSQL(
        """
        SELECT c.number, \(sql: CubeStatements.cell) FROM rollup_cell c
        WHERE c.app_id = $1 AND c.number = ANY ($2) ORDER BY c.number
        """)
}
