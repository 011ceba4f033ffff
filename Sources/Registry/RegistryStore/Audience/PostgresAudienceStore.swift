import EventLoop
import Foundation
import PostgresClient
import PushRegistry

/// Audiences in PostgreSQL, on separate connections. Each event loop has one store.
///
/// Counts, breakdowns and waves by fields of cells come from the app's cube (`CubeQuery`); the rest from the rows of
/// installations.
public struct PostgresAudienceStore: AudienceStore {
    let sessions: AudienceSessions
    private let exports: Turns
    private let cubes: CubeCache
    /// Of these only the cells are used: those that records of past days name, and that the present cube may lack.
    let pastCubes: CubeCache

    /// - Parameters:
    ///   - postgres: a pool with `limits.pool` and `limits.sessionSettings`, of the database or of a standby.
    ///   - cubes: those of the process.
    ///   - pastCubes: likewise, for past days.
    public init(
        postgres: PostgresClient, limits: AudienceStoreLimits, cubes: CubeCache = CubeCache(),
        pastCubes: CubeCache = CubeCache()
    ) {
        sessions = AudienceSessions(postgres: postgres, limits: limits)
        // Most exports are short, so one waits for a while.
        exports = Turns(loop: postgres.loop, count: limits.exportsMax, waitingMax: 64, waitMax: .seconds(2))
        (self.cubes, self.pastCubes) = (cubes, pastCubes)
    }

    public func count(_ audience: Audience, explains: Bool) async throws -> AudienceCount {
        if let query = CubeQuery(audience) {
            let answer = try await read(query) { found in
                AudienceCount(
                    asOf: found.view.moment.asOf, count: query.count(in: found.view), unknown: found.unknown,
                    plan: explains ? found.plan : nil)
            }
            if let answer { return answer }
        }
        let values = KnownValues(audience)
        let found = try await read(audience, explains: explains, { $0.count }, { _ in values.lookUp })
        return AudienceCount(
            asOf: found.asOf, count: try found.rows[0].decode(0),
            unknown: try await unknown(values, found.more.last, of: audience.app), plan: found.plan)
    }

    public func breakDown(
        _ audience: Audience, by fields: [AudienceField], limit: Int, explains: Bool
    ) async throws -> AudienceBreakdown {
        if let query = CubeQuery(audience, by: fields) {
            let answer = try await read(query) { found in
                query.breakdown(
                    of: found.view, limit: limit, unknown: found.unknown, plan: explains ? found.plan : nil)
            }
            if let answer { return answer }
        }
        let (values, isByTopic) = (KnownValues(audience), fields.contains(.topic))
        // A row for each topic of an installation does not tell the number of installations.
        let found = try await read(
            audience, explains: explains, { $0.groups(by: fields, limit: limit) },
            { (isByTopic ? [PostgresStatement($0.count).unprepared()] : []) + values.lookUp })
        let groups = try found.rows.map { row in
            AudienceBreakdown.Group(
                values: try fields.indices.map { try row.decode($0) }, count: try row.decode(fields.count))
        }
        let counted: Int64 = try found.rows.first?.decode(fields.count + 1) ?? 0
        let all: Int64 = try found.rows.first?.decode(fields.count + 2) ?? 0
        let unknown = try await unknown(values, values.lookUp.isEmpty ? nil : found.more.last, of: audience.app)
        return AudienceBreakdown(
            asOf: found.asOf, total: isByTopic ? try found.more[0][0].decode(0) : counted, counted: counted,
            groups: groups, restGroups: all - Int64(groups.count), unknown: unknown, plan: found.plan)
    }

    public func page(
        _ audience: Audience, from position: AudiencePosition, limit: Int, explains: Bool
    ) async throws -> AudiencePage {
        // One more row than requested shows whether another page follows.
        let found = try await read(audience, explains: explains, { $0.page(from: position, limit: limit + 1) })
        return AudiencePage(
            asOf: found.asOf,
            items: try found.rows.prefix(limit).map { try AudiencePage.Item($0, isTyped: audience.tokens != nil) },
            hasMore: found.rows.count > limit, plan: found.plan)
    }

    public func waves(
        _ audience: Audience, at time: LocalTime, on day: CalendarDay, explains: Bool
    ) async throws -> AudienceWaves {
        let cubeQuery = CubeQuery(audience, by: [.timeZone, .utcOffset])
        var cube: Found?
        var zones: PostgresSQL?
        if let cubeQuery, let read = try await read(cubeQuery, { $0 }) {
            cube = read
            zones = await offLoop { cubeQuery.zones(in: read.view) }
        }
        let found = try await read(audience, explains: explains, { $0.waves(time, on: day, of: zones ?? $0.zones) })
        var (waves, withoutTimeZone) = ([AudienceWaves.Wave](), Int64(0))
        for row in found.rows {
            let count: Int64 = try row.decode(1)
            guard let at = try row.decode(0, as: Timestamp?.self) else {
                withoutTimeZone += count
                continue
            }
            let zones: [String?] = try row.decode(2, as: [String].self) + (try row.decode(3) ? [nil] : [])
            waves.append(
                AudienceWaves.Wave(
                    at: at, count: count, timeZones: zones, clockChanges: try Self.clockChanges(row)))
        }
        return AudienceWaves(
            asOf: cube?.view.moment.asOf ?? found.asOf, waves: waves, withoutTimeZone: withoutTimeZone,
            plan: explains ? cube?.plan ?? found.plan : nil)
    }

    /// Of the columns with the zones that skip the time, what their clocks show, and the zones that repeat it.
    private static func clockChanges(_ row: PostgresRow) throws -> [AudienceWaves.ClockChange] {
        let skipped = zip(try row.decode(4, as: [String].self), try row.decode(5, as: [String].self))
            .map { AudienceWaves.ClockChange(timeZone: $0, skippedTo: $1) }
        let repeated = try row.decode(6, as: [String].self)
            .map { AudienceWaves.ClockChange(timeZone: $0, skippedTo: nil) }
        return (skipped + repeated).sorted { $0.timeZone < $1.timeZone }
    }

    /// What a query of installations has found.
    private struct Reading: Sendable {
        let rows: PostgresResult
        /// The results of other statements.
        let more: [PostgresResult]
        let asOf: Timestamp
        let plan: AudiencePlan?
    }

    /// Executes one query of installations in one snapshot.
    ///
    /// - Parameter more: other statements of the same round trip.
    private func read(
        _ audience: Audience, explains: Bool, _ query: (AudienceStatements) -> PostgresSQL,
        _ more: (AudienceStatements) -> [PostgresStatement] = { _ in [] }
    ) async throws -> Reading {
        try await sessions.withMoment(of: audience.app) { connection, moment in
            let statements = AudienceStatements(audience, at: moment.asOf)
            let sql = query(statements)
            let explanation =
                explains ? [AudienceSessionStatements.rowsOfTable, AudienceSessionStatements.explain(sql)] : []
            let results = try await connection.execute(
                [PostgresStatement(sql).unprepared()] + explanation + more(statements)
                    + [AudienceSessionStatements.commit()],
                timeout: sessions.timeout)
            let plan =
                explains
                ? AudienceExplanation.plan(try results[2][0].decode(0), tableRows: try results[1][0].decode(0)) : nil
            return Reading(
                rows: results[0], more: Array(results[(1 + explanation.count)...].dropLast()), asOf: moment.asOf,
                plan: plan)
        }
    }

    /// The values of a filter that no installation has.
    ///
    /// - Parameter lookUp: the result of `values.lookUp`, if there is one.
    private func unknown(
        _ values: KnownValues, _ lookUp: PostgresResult?, of app: AppNumber
    ) async throws -> [UnknownValue] {
        let positions: [Int] = try lookUp?.map { try $0.decode(0) } ?? []
        guard !positions.isEmpty || values.needsCells else { return [] }
        let view = try await view(of: app, [0], needsZones: values.needsZones).view
        return await offLoop { values.unknown(positions, in: view) }
    }
}

// MARK: - Cubes

extension PostgresAudienceStore {
    private struct Found: Sendable {
        let view: CubeView
        let unknown: [UnknownValue]

        var plan: AudiencePlan { AudiencePlan(path: .rollUp, estimatedRows: Int64(view.cells.count)) }
    }

    /// Answers a query from the cube; nil if it does not have the texts of all installations.
    private func read<Answer: Sendable>(
        _ query: CubeQuery, _ answer: @escaping @Sendable (Found) -> Answer
    ) async throws -> Answer? {
        let values = KnownValues(query.audience)
        let (view, more) = try await view(
            of: query.audience.app, query.choices, needsZones: query.needsZones, values.lookUp)
        return try await offLoop {
            guard query.needsNoTexts || !view.overflows else { return nil }
            let positions = try more.first?.map { try $0.decode(0, as: Int.self) } ?? []
            return answer(Found(view: view, unknown: values.unknown(positions, in: view)))
        }
    }

    /// Reads the changes that the process does not have yet, or the cube.
    ///
    /// - Parameter more: other statements of the same snapshot.
    /// - Returns: also the results of `more`.
    private func view(
        of app: AppNumber, _ choices: [Int32], needsZones: Bool = false, _ more: [PostgresStatement] = []
    ) async throws -> (view: CubeView, more: [PostgresResult]) {
        // Before the transaction begins: a cube of the cache may have later transactions afterwards.
        let cached = cubes.cube(of: app)
        let timeout = sessions.timeout
        return try await sessions.withMoment(of: app) { connection, moment in
            var reading = try CubeReading(of: app, choices, needsZones: needsZones, cached: cached, at: moment)
            let statements = reading.statements
            let results = try await connection.execute(
                statements + more + [AudienceSessionStatements.commit()], timeout: timeout)
            reading = try await offLoop { [reading] in
                var reading = reading
                try reading.read(results[..<statements.count])
                return reading
            }
            if let texts = reading.texts {
                let result = try await connection.execute([texts], timeout: timeout)[0]
                reading = try await offLoop { [reading] in
                    var reading = reading
                    try reading.read(texts: result)
                    return reading
                }
            }
            cubes.store(reading.advanced, of: app, replacing: cached)
            return (reading.view, Array(results[statements.count...].dropLast()))
        }
    }
}

// MARK: - Exports

extension PostgresAudienceStore {
    public func makeExportSlot(of app: AppNumber) async throws -> any Sendable {
        try await exports.turn(of: app)
    }

    /// The size of rows that are passed on at once: work of a quarter of a millisecond, after which other jobs of the
    /// loop run.
    private static let exportedBytesMax = 64 * 1_024

    /// By COPY: PostgreSQL sends rows as it finds them, and waits while the client does not read.
    public func export(
        _ audience: Audience, _ columns: [ExportColumn], from position: AudiencePosition,
        _ consume: (ExportRows) async throws -> Void
    ) async throws {
        let deadline = sessions.limits.exportDeadline
        try await sessions.withMoment(of: audience.app) { connection, moment in
            let statements = AudienceStatements(audience, at: moment.asOf)
            if audience.tokens != nil {
                _ = try await connection.execute(AudienceSessionStatements.lookUpInstallations())
            }
            _ = try await connection.execute(AudienceSessionStatements.limitTime(deadline))
            do {
                try await connection.beginCopy(of: statements.export(columns, from: position), timeout: deadline)
                while let rows = try await connection.nextCopyRows(bytesMax: Self.exportedBytesMax) {
                    try await consume(ExportRows(bytes: rows.bytes, count: rows.count))
                }
            } catch let error as PostgresError where error.kind == .timeout {
                throw AudienceRefusal.exportExpired
            }
            _ = try await connection.execute(AudienceSessionStatements.commit())
        }
    }
}

/// The plan of a query, by PostgreSQL's planner.
enum AudienceExplanation {
    /// - Parameters:
    ///   - text: the plan, as `explain` returns it.
    ///   - tableRows: about the number of installations of all apps.
    static func plan(_ text: String, tableRows: Int64) -> AudiencePlan {
        let plans = (try? JSONSerialization.jsonObject(with: Data(text.utf8))) as? [[String: Any]]
        let nodes = plans?.first?["Plan"].map(nodes(of:)) ?? []
        let scans = nodes.filter { ($0["Relation Name"] as? String) == "installation" }
        let found = nodes.filter(isSelective)
        guard let scan = scans.first, !found.isEmpty, !readsAll(scan) else {
            return AudiencePlan(path: .scan, estimatedRows: tableRows)
        }
        return AudiencePlan(path: .index, estimatedRows: max(rows(scan), found.map(rows).max() ?? 0))
    }

    /// An index condition on more than the app.
    private static func isSelective(_ node: [String: Any]) -> Bool {
        guard let condition = node["Index Cond"] as? String else { return false }
        return condition.contains(" AND ") || !condition.contains("app_id")
    }

    /// An index may find what a filter excludes, and then all installations are read. The indexes of a bitmap are below
    /// the scan, beside subplans of the filter.
    private static func readsAll(_ scan: [String: Any]) -> Bool {
        let bitmaps = (scan["Plans"] as? [[String: Any]] ?? []).filter {
            $0["Parent Relationship"] as? String == "Outer"
        }
        return !([scan] + bitmaps.flatMap(nodes(of:))).contains(where: isSelective)
    }

    private static func rows(_ node: [String: Any]) -> Int64 {
        (node["Plan Rows"] as? NSNumber)?.int64Value ?? 0
    }

    private static func nodes(of plan: Any) -> [[String: Any]] {
        guard let node = plan as? [String: Any] else { return [] }
        let children = node["Plans"] as? [Any] ?? []
        return [node] + children.flatMap(nodes(of:))
    }
}
