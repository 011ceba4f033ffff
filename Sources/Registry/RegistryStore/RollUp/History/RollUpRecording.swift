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
                let known = Timestamp(try row.decode(0, as: PostgresTimestamp.self))
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
            RollUpHistoryStatements.mark(app, recorded.map { numbers[$0] }, day),
            RollUpHistoryStatements.forget(
                app.rawValue, CalendarDay(of: asOf.preceding(by: AudienceTrend.retention)).description),
        ]
    }
}

extension Timestamp {
    fileprivate func distance(to other: Timestamp) -> UInt64 { (microseconds - other.microseconds).magnitude }
}
