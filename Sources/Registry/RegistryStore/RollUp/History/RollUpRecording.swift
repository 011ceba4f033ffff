import PostgresClient
import PushRegistry

/// The record of an app's counts of a day, in one transaction that reads one snapshot. A value that returns the
/// statements to send, as `RollUpFold`.
package struct RollUpRecording {
    private enum Phase {
        case opening
        case reading(CubeReading, layers: [Int32], day: CalendarDay)
        case writing
    }

    /// An app with more cells, those of records included, is not recorded: its clients choose their values freely.
    package static let cellsMax: Int64 = 2_000_000
    /// How long before its last record a cell may be marked as recorded.
    static let renewal = ISO8601Duration.days(30)

    private let app: AppNumber
    private var phase = Phase.opening

    package init(_ app: AppNumber) {
        self.app = app
    }

    package var first: [PostgresStatement] {
        AudienceMoment.reads(of: app) + [RollUpHistoryStatements.layers(app.rawValue)]
    }

    /// The next unit after these results; nil at the end.
    package mutating func next(_ results: [PostgresResult]) throws -> [PostgresStatement]? {
        switch phase {
        case .opening:
            // The app is being deleted.
            guard !results[1].isEmpty else { return nil }
            let moment = try AudienceMoment(results)
            let layers: [Int32] = try results[2][0].decode(0)
            let count: Int64 = try results[2][0].decode(1)
            guard count <= Self.cellsMax else { return nil }
            let reading = try CubeReading(of: app, layers, cached: nil, at: moment, results[1])
            let day = CalendarDay(endingNear: moment.asOf)
            phase = .reading(reading, layers: layers, day: day)
            return reading.statements + [RollUpHistoryStatements.recorded(app.rawValue, day.description)]
        case .reading(var reading, let layers, let day):
            try reading.read(results[..<(results.count - 1)])
            let asOf = reading.moment.asOf
            if let row = results[results.count - 1].first {
                let known = Timestamp(try row.decode(0, as: PostgresTimestamp.self))
                guard asOf.distance(to: day.end) < known.distance(to: day.end) else { return nil }
            }
            phase = .writing
            return statements(reading.view, layers, day)
        case .writing: return nil
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
