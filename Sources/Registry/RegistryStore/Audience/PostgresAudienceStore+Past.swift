import EventLoop
import PostgresClient
import PushRegistry

// Counts of past days, from the records of the night job.
extension PostgresAudienceStore {
    /// Records that are in memory together.
    private static let daysPerRead = 8

    public func counts(_ audience: Audience, on days: [CalendarDay]) async throws -> [AudienceTrend.Point] {
        let query = try Self.query(audience)
        return try await read(query, on: days) { views in
            zip(views, query.counts(in: views.map(\.view))).map { seen, count in
                AudienceTrend.Point(day: seen.day, asOf: seen.view.moment.asOf, count: count)
            }
        }
    }

    public func breakDown(
        _ audience: Audience, by fields: [AudienceField], limit: Int, on day: CalendarDay
    ) async throws -> AudienceBreakdown {
        let query = try Self.query(audience, by: fields)
        let answer = try await read(query, on: [day]) { $0.map { query.breakdown(of: $0.view, limit: limit) } }
        guard let breakdown = answer.first else { throw AudienceRefusal.noRecord(day) }
        return breakdown
    }

    private static func query(_ audience: Audience, by fields: [AudienceField] = []) throws -> CubeQuery {
        guard let query = CubeQuery(audience, by: fields) else {
            let other = audience.filter.fields.union(fields).filter { !$0.isOfCells }
            throw AudienceRefusal.outsideRecords(AudienceField.allCases.filter(other.contains))
        }
        return query
    }

    /// Answers a query from the record of each day that has one, in the order of days.
    ///
    /// - Parameter answer: of days whose records were read together.
    private func read<Answer: Sendable>(
        _ query: CubeQuery, on days: [CalendarDay],
        _ answer: @escaping @Sendable ([(day: CalendarDay, view: CubeView)]) -> [Answer]
    ) async throws -> [Answer] {
        let app = query.audience.app
        let cached = pastCubes.cube(of: app)
        let timeout = sessions.timeout
        return try await sessions.withMoment(of: app) { connection, moment in
            var past = PastReading(query, cached, at: moment)
            var answers: [Answer] = []
            let parts = stride(from: 0, to: days.count, by: Self.daysPerRead).map { start in
                [past.records(of: days[start..<min(start + Self.daysPerRead, days.count)])]
            }
            var records = try await connection.execute(parts.first ?? [], timeout: timeout)
            for next in parts.dropFirst() + [[]] {
                // The server sends the next records while these are decoded.
                async let following = connection.execute(next, timeout: timeout)
                past = try await offLoop { [past, records] in try past.reading(records[0]) }
                if !past.missing.isEmpty {
                    try past.read(cells: try await connection.execute([past.cells], timeout: timeout)[0])
                    if let texts = past.cube.cells.texts(of: app) {
                        try past.cube.cells.read(texts: try await connection.execute([texts], timeout: timeout)[0])
                    }
                    past = try await offLoop { [past, records] in try past.reading(records[0]) }
                }
                let zones =
                    query.needsZones
                    ? try await connection.execute(past.days.map { past.zones(at: $0.asOf) }, timeout: timeout) : []
                answers += try await offLoop { [past] in
                    let views = try past.days.enumerated().map { index, day in
                        let zones = zones.isEmpty ? [:] : try CubeReading.zones(zones[index])
                        return (day: day.day, view: past.view(of: day, zones: zones))
                    }
                    return answer(views.filter { query.needsNoTexts || !$0.view.overflows })
                }
                records = try await following
            }
            _ = try await connection.execute([AudienceSessionStatements.commit()], timeout: timeout)
            pastCubes.store(past.cube, of: app, replacing: cached)
            return answers
        }
    }
}

/// The reading of an app's records in one snapshot.
private struct PastReading: Sendable {
    struct Day: Sendable {
        let day: CalendarDay
        let asOf: Timestamp
        var layers: [Int32: AppCube.Layer] = [:]
    }

    private let query: CubeQuery
    private let moment: AudienceMoment
    /// Its cells are those that records name.
    var cube: AppCube
    /// The cells in the order of their numbers, as records have them.
    private var order: [(number: Int64, index: Int32)] = []
    private(set) var days: [Day] = []
    /// The numbers of cells that the process does not have yet.
    private(set) var missing: [Int64] = []

    init(_ query: CubeQuery, _ cached: AppCube?, at moment: AudienceMoment) {
        (self.query, self.moment) = (query, moment)
        cube = AppCube(identity: moment.identity, version: 0)
        if let cached, cached.identity == moment.identity { cube = cached }
        sortCells()
    }

    private mutating func sortCells() {
        order = cube.cells.numbers.enumerated().map { ($1, Int32($0)) }.sorted { $0.number < $1.number }
    }

    func records(of days: ArraySlice<CalendarDay>) -> PostgresStatement {
        RollUpHistoryStatements.records(query.audience.app.rawValue, days.map(\.description), query.choices)
    }

    /// - Parameter records: of the statement of the same name.
    func reading(_ records: PostgresResult) throws -> PastReading {
        var next = self
        (next.days, next.missing) = ([], [])
        var missing: Set<Int64> = []
        for row in records {
            let day = try CalendarDay(try row.decode(0, as: String.self))
            if next.days.last?.day != day {
                next.days.append(Day(day: day, asOf: try row.decode(2, as: Timestamp.self)))
            }
            let layer: Int32 = try row.decode(1)
            var (rows, place): ([AppCube.Row], Int) = ([], 0)
            rows.reserveCapacity(order.count)
            try RecordedCounts(try row.decode(3)).read { number, counts in
                while place < order.count, order[place].number < number { place += 1 }
                if place < order.count, order[place].number == number {
                    rows.append(AppCube.Row(cell: order[place].index, counts: counts))
                } else {
                    missing.insert(number)
                }
            }
            next.days[next.days.count - 1].layers[layer] = AppCube.Layer(recorded: rows)
        }
        next.missing = missing.sorted()
        return next
    }

    var cells: PostgresStatement { RollUpHistoryStatements.cells(query.audience.app.rawValue, missing) }

    /// - Parameter cells: of the statement of the same name.
    mutating func read(cells: PostgresResult) throws {
        guard cells.count == missing.count else { throw StoreError.failed("a recorded cell is missing") }
        for row in cells { _ = try cube.cells.index(of: try row.decode(0), row, from: 1) }
        sortCells()
    }

    func zones(at asOf: Timestamp) -> PostgresStatement { CubeStatements.zones(of: query.audience.app, at: asOf) }

    func view(of day: Day, zones: [String: Int64]) -> CubeView {
        var (cube, moment) = (cube, moment)
        (cube.layers, moment.asOf) = (day.layers, day.asOf)
        return CubeView(cube: cube, moment: moment, zones: zones)
    }
}
