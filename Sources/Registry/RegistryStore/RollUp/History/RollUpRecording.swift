import PostgresClient
import PushRegistry

/// The record of an app's counts of a day, in one transaction that reads one snapshot.
package struct RollUpRecording {
    /// An app with more cells, those of records included, is not recorded: its clients choose their values freely.
    package static let cellsMax: Int64 = 2_000_000
    /// How long before its last record a cell may be marked as recorded.
    static let renewal = ISO8601Duration.days(30)

    private let app: AppNumber

    package init(_ app: AppNumber) {
        self.app = app
    }

    package var steps: Steps<Void> {
        .send(AudienceMoment.reads(of: app) + [RollUpHistoryStatements.layers(app.rawValue)]) { results in
            // Without a state, the app is being deleted.
            guard !results[1].isEmpty, try results[2][0].decode(1, as: Int64.self) <= Self.cellsMax else {
                return .end(())
            }
            let layers: [Int32] = try results[2][0].decode(0)
            let reading = try CubeReading(of: app, layers, cached: nil, at: AudienceMoment(results))
            return record(reading, layers, of: CalendarDay(endingNear: reading.moment.asOf))
        }
    }

    private func record(_ reading: CubeReading, _ layers: [Int32], of day: CalendarDay) -> Steps<Void> {
        .send(reading.statements + [RollUpHistoryStatements.recorded(app.rawValue, day.description)]) { results in
            if let row = results[results.count - 1].first {
                let known = try row.decode(0, as: Timestamp.self)
                guard reading.moment.asOf.distance(to: day.end) < known.distance(to: day.end) else { return .end(()) }
            }
            var reading = reading
            try reading.read(results[..<(results.count - 1)])
            return .send(statements(reading.view, layers, day)) { _ in .end(()) }
        }
    }

    private func statements(_ view: CubeView, _ layers: [Int32], _ day: CalendarDay) -> [PostgresStatement] {
        let numbers = view.cells.numbers
        let order = numbers.indices.sorted { numbers[$0] < numbers[$1] }
        let asOf = view.moment.asOf
        var recorded = Set<Int>()
        let records = layers.map { layer in
            let (reachable, active, all) = (
                view.counts(layer, .reachable), view.counts(layer, .active), view.counts(layer, .all)
            )
            var counts = RecordedCounts()
            for cell in order where reachable[cell] != 0 || active[cell] != 0 || all[cell] != 0 {
                counts.append(
                    numbers[cell],
                    AppCube.Counts(reachable: reachable[cell], active: active[cell], installations: all[cell]))
                recorded.insert(cell)
            }
            return RollUpHistoryStatements.add(
                app.rawValue, day.description, layer, asOf.postgres, counts.bytes)
        }
        return [RollUpHistoryStatements.remove(app.rawValue, day.description)] + records + [
            RollUpHistoryStatements.mark(
                app.rawValue, recorded.map { numbers[$0] }, day.description,
                CalendarDay(of: day.start.preceding(by: Self.renewal)).description),
            RollUpHistoryStatements.forget(
                app.rawValue, CalendarDay(of: asOf.preceding(by: AudienceTrend.retention)).description),
        ]
    }
}

extension Timestamp {
    fileprivate func distance(to other: Timestamp) -> UInt64 { (microseconds - other.microseconds).magnitude }
}

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

    /// Clean-up (R13): keeps the cells `$2` that a record of the day `$3` names, if they were not marked since `$4`.
    static let mark = PreparedSQL(
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
