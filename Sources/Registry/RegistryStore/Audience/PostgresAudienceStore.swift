import EventLoop
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
        return try await query(audience, findsUnknownValues: true, explains: explains) {
            $0.count
        } decode: { rows, asOf, plan, unknown, _ in
            AudienceCount(asOf: asOf, count: try rows[0].decode(0), unknown: unknown, plan: plan)
        }
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
        return try await query(
            audience, from: fields.contains(.topic) ? .subscriptions : .installations, findsUnknownValues: true,
            explains: explains
        ) {
            $0.groups(by: fields, limit: limit)
        } decode: { rows, asOf, plan, unknown, installations in
            let groups = try rows.map { row in
                AudienceBreakdown.Group(
                    values: try fields.indices.map { try row.decode($0) }, count: try row.decode(fields.count))
            }
            let (counted, all) =
                try rows.first.map { row in
                    (try row.decode(fields.count + 1, as: Int64.self), try row.decode(fields.count + 2, as: Int64.self))
                } ?? (0, 0)
            return AudienceBreakdown(
                asOf: asOf, total: installations ?? counted, counted: counted, groups: groups,
                restGroups: all - Int64(groups.count), unknown: unknown,
                plan: plan)
        }
    }

    public func page(
        _ audience: Audience, from position: AudiencePosition, limit: Int, explains: Bool
    ) async throws -> AudiencePage {
        // One more row than requested shows whether another page follows.
        try await query(audience, explains: explains) {
            $0.page(from: position, limit: limit + 1)
        } decode: { rows, asOf, plan, _, _ in
            AudiencePage(
                asOf: asOf,
                items: try rows.prefix(limit).map { try AudiencePage.Item($0, isTyped: audience.tokens != nil) },
                hasMore: rows.count > limit, plan: plan)
        }
    }

    public func waves(
        _ audience: Audience, at time: LocalTime, on day: CalendarDay, explains: Bool
    ) async throws -> AudienceWaves {
        let cubeQuery = CubeQuery(audience, by: [.timeZone, .utcOffset])
        var found: Found?
        var zones: PostgresSQL?
        if let cubeQuery, let read = try await read(cubeQuery, { $0 }) {
            found = read
            zones = await offLoop { cubeQuery.zones(in: read.view) }
        }
        return try await query(audience, explains: explains) {
            $0.waves(time, on: day, of: zones ?? $0.zones)
        } decode: { rows, asOf, plan, _, _ in
            var (waves, withoutTimeZone) = ([AudienceWaves.Wave](), Int64(0))
            for row in rows {
                let count: Int64 = try row.decode(1)
                guard let at = try row.decode(0, as: PostgresTimestamp?.self) else {
                    withoutTimeZone += count
                    continue
                }
                let zones: [String?] = try row.decode(2, as: [String].self) + (try row.decode(3) ? [nil] : [])
                waves.append(
                    AudienceWaves.Wave(
                        at: Timestamp(at), count: count, timeZones: zones, clockChanges: try Self.clockChanges(row)))
            }
            return AudienceWaves(
                asOf: found?.view.moment.asOf ?? asOf, waves: waves, withoutTimeZone: withoutTimeZone,
                plan: explains ? found?.plan ?? plan : nil)
        }
    }

    /// Of the columns with the zones that skip the time, what their clocks show, and the zones that repeat it.
    private static func clockChanges(_ row: PostgresRow) throws -> [AudienceWaves.ClockChange] {
        let skipped = zip(try row.decode(4, as: [String].self), try row.decode(5, as: [String].self))
            .map { AudienceWaves.ClockChange(timeZone: $0, skippedTo: $1) }
        let repeated = try row.decode(6, as: [String].self)
            .map { AudienceWaves.ClockChange(timeZone: $0, skippedTo: nil) }
        return (skipped + repeated).sorted { $0.timeZone < $1.timeZone }
    }

    /// The rows of a result.
    private enum Source {
        case installations
        /// A row for each topic of an installation. Another statement counts the installations.
        case subscriptions
    }

    /// Executes one query of installations in one snapshot.
    ///
    /// - Parameter findsUnknownValues: whether one more statement of the same round trip looks up the values of the
    ///   filter.
    private func query<Value>(
        _ audience: Audience, from wanted: Source = .installations, findsUnknownValues: Bool = false, explains: Bool,
        _ statement: (AudienceStatements) -> PostgresSQL,
        decode: (PostgresResult, Timestamp, AudiencePlan?, [UnknownValue], _ installations: Int64?) throws -> Value
    ) async throws -> Value {
        let values = KnownValues(audience)
        let (results, plan, asOf) = try await sessions.withMoment(of: audience.app) { connection, moment in
            let asOf = moment.asOf
            let source: AudienceSource =
                switch wanted {
                case .installations: .installations(audience, at: asOf)
                case .subscriptions: .subscriptions(audience, at: asOf)
                }
            let sql = statement(AudienceStatements(audience, at: asOf, source))
            let explanation =
                explains ? [AudienceSessionStatements.rowsOfTable, AudienceSessionStatements.explain(sql)] : []
            var total: [PostgresStatement] = []
            if wanted == .subscriptions {
                let count = AudienceStatements(audience, at: asOf, .installations(audience, at: asOf)).count
                total = [PostgresStatement(count).unprepared()]
            }
            let lookUp = findsUnknownValues ? values.lookUp.map { [$0] } ?? [] : []
            var results = try await connection.execute(
                [PostgresStatement(sql).unprepared()] + total + lookUp + explanation
                    + [AudienceSessionStatements.commit()],
                timeout: sessions.timeout)
            results.removeLast()
            guard explains else { return (results, nil as AudiencePlan?, asOf) }
            let (text, rows) = (try results.removeLast()[0], try results.removeLast()[0])
            return (
                results, AudienceExplanation.plan(try text.decode(0), tableRows: try rows.decode(0)), asOf
            )
        }
        let positions: [Int] =
            findsUnknownValues && values.lookUp != nil
            ? try results[results.count - 1].map { try $0.decode(0) } : []
        var unknown: [UnknownValue] = []
        if !positions.isEmpty || findsUnknownValues && values.needsCells {
            let view = try await view(of: audience.app, [0], needsZones: values.needsZones).view
            unknown = await offLoop { values.unknown(positions, in: view) }
        }
        return try decode(
            results[0], asOf, plan, unknown, wanted == .subscriptions ? results[1][0].decode(0) : nil)
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
            of: query.audience.app, query.choices, needsZones: query.needsZones, values.lookUp.map { [$0] } ?? [])
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
        return try await sessions.withTransaction(AudienceMoment.reads(of: app)) { connection, opened in
            var reading = try CubeReading(
                of: app, choices, needsZones: needsZones, cached: cached, at: AudienceMoment(opened), opened[1])
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

    public func export(
        _ audience: Audience, _ columns: [ExportColumn], from position: AudiencePosition,
        _ consume: (ExportRows) async throws -> Void
    ) async throws {
        let deadline = sessions.limits.exportDeadline
        try await sessions.withMoment(of: audience.app) { connection, moment in
            let asOf = moment.asOf
            let statements = AudienceStatements(audience, at: asOf, .installations(audience, at: asOf))
            if audience.tokens != nil {
                _ = try await connection.execute(AudienceSessionStatements.lookUpInstallations())
            }
            let copy = ExportCopy(connection: connection, deadline: deadline)
            try await copy.read(statements.export(columns, from: position), consume)
            _ = try await connection.execute(AudienceSessionStatements.commit())
        }
    }
}
