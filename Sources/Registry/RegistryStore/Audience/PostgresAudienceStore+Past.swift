import EventLoop
import PostgresClient
import PushRegistry

// Counts of past days, from the records of the night job.
extension PostgresAudienceStore {
    /// Records that are in memory together.
    private static let daysPerRead = 8

    public func counts(_ audience: Audience, on days: [CalendarDay]) async throws -> [AudienceTrend.Point] {
        let query = try Self.query(audience)
        return try await read(query, on: days) { day, view in
            AudienceTrend.Point(day: day, asOf: view.moment.asOf, count: query.count(in: view))
        }
    }

    public func breakDown(
        _ audience: Audience, by fields: [AudienceField], limit: Int, on day: CalendarDay
    ) async throws -> AudienceBreakdown {
        let query = try Self.query(audience, by: fields)
        let answer = try await read(query, on: [day]) { _, view in query.breakdown(of: view, limit: limit) }
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
    private func read<Answer: Sendable>(
        _ query: CubeQuery, on days: [CalendarDay],
        _ answer: @escaping @Sendable (CalendarDay, CubeView) -> Answer
    ) async throws -> [Answer] {
        let app = query.audience.app
        let cached = pastCubes.cube(of: app)
        let timeout = sessions.timeout
        return try await sessions.withTransaction(AudienceMoment.reads(of: app)) { connection, opened in
            var past = PastReading(query, cached, at: try AudienceMoment(opened))
            var answers: [Answer] = []
            for start in stride(from: 0, to: days.count, by: Self.daysPerRead) {
                let part = Array(days[start..<min(start + Self.daysPerRead, days.count)])
                let records = try await connection.execute([past.records(of: part)], timeout: timeout)[0]
                let found = try await offLoop { [past] in try past.days(of: records) }
                if !found.missing.isEmpty {
                    let cells = try await connection.execute([past.cells(found.missing)], timeout: timeout)[0]
                    try past.read(cells: cells)
                    if let texts = past.texts {
                        try past.read(texts: try await connection.execute([texts], timeout: timeout)[0])
                    }
                }
                let zones =
                    query.needsZones
                    ? try await connection.execute(found.days.map { past.zones(at: $0.asOf) }, timeout: timeout) : []
                answers += try await offLoop { [past] in
                    try found.days.enumerated().compactMap { index, day in
                        let view = try past.view(of: day, zones: zones.isEmpty ? [:] : CubeReading.zones(zones[index]))
                        return query.needsNoTexts || !view.overflows ? answer(day.day, view) : nil
                    }
                }
            }
            _ = try await connection.execute(
                [PostgresStatement(AudienceSessionStatements.commit)], timeout: timeout)
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
        var layers: [Int32: RecordedCounts] = [:]
    }

    private let query: CubeQuery
    private let moment: AudienceMoment
    /// Its cells are those that records name.
    private(set) var cube: AppCube

    init(_ query: CubeQuery, _ cached: AppCube?, at moment: AudienceMoment) {
        (self.query, self.moment) = (query, moment)
        cube = AppCube(identity: moment.identity, version: 0)
        if let cached, cached.identity == moment.identity { cube = cached }
    }

    func records(of days: [CalendarDay]) -> PostgresStatement {
        RollUpHistoryStatements.records(query.audience.app, days, query.choices)
    }

    /// The recorded days, and the numbers of their cells that the process does not have yet.
    ///
    /// - Parameter records: of the statement of the same name.
    func days(of records: PostgresResult) throws -> (days: [Day], missing: [Int64]) {
        var days: [Day] = []
        var missing: Set<Int64> = []
        for row in records {
            let day = try CalendarDay(try row.decode(0, as: String.self))
            if days.last?.day != day {
                days.append(Day(day: day, asOf: Timestamp(try row.decode(2, as: PostgresTimestamp.self))))
            }
            let counts = RecordedCounts(try row.decode(3))
            try counts.read { number, _ in if cube.cells.index(of: number) == nil { missing.insert(number) } }
            days[days.count - 1].layers[try row.decode(1)] = counts
        }
        return (days, missing.sorted())
    }

    func cells(_ numbers: [Int64]) -> PostgresStatement {
        RollUpHistoryStatements.cells(query.audience.app, numbers)
    }

    mutating func read(cells: PostgresResult) throws {
        for row in cells { _ = try cube.cells.index(of: try row.decode(0), row, from: 1) }
    }

    /// Nil if all are known.
    var texts: PostgresStatement? {
        cube.cells.missingTexts.isEmpty
            ? nil
            : PostgresStatement(CubeStatements.texts, query.audience.app.rawValue, cube.cells.missingTexts)
    }

    mutating func read(texts: PostgresResult) throws { try cube.cells.read(texts: texts) }

    func zones(at asOf: Timestamp) -> PostgresStatement { CubeStatements.zones(of: query.audience.app, at: asOf) }

    func view(of day: Day, zones: [String: Int64]) throws -> CubeView {
        var cube = cube
        for (layer, counts) in day.layers {
            var rows: [AppCube.Row] = []
            try counts.read { number, counts in
                guard let cell = cube.cells.index(of: number) else { throw StoreError.failed("a cell is missing") }
                rows.append(AppCube.Row(cell: cell, counts: counts))
            }
            cube.add(rows, [], droppingBefore: 0, to: layer)
        }
        return CubeView(cube, at: moment.past(day.asOf), zones: zones)
    }
}
