import PostgresClient
import PushRegistry

/// Audiences in PostgreSQL, on separate connections. Each event loop has one store.
public struct PostgresAudienceStore: AudienceStore {
    private let sessions: AudienceSessions
    private let exportSlots: ExportSlots

    /// - Parameter postgres: a pool with `limits.pool` and `limits.sessionSettings`, of the database or of a standby.
    public init(postgres: PostgresClient, limits: AudienceStoreLimits) {
        sessions = AudienceSessions(postgres: postgres, limits: limits)
        exportSlots = ExportSlots(countMax: limits.exportsMax, on: postgres.loop)
    }

    public func count(_ audience: Audience, explains: Bool) async throws -> AudienceCount {
        try await query(audience, findsUnknownValues: true, explains: explains) {
            $0.count
        } decode: { rows, asOf, plan, unknown, _ in
            AudienceCount(asOf: asOf, count: try rows[0].decode(0), unknown: unknown, plan: plan)
        }
    }

    public func breakDown(
        _ audience: Audience, by fields: [AudienceField], limit: Int, explains: Bool
    ) async throws -> AudienceBreakdown {
        let source: Source = fields.contains(.topic) ? .subscriptions : .counts
        return try await query(audience, by: fields, from: source, findsUnknownValues: true, explains: explains) {
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
        _ audience: Audience, after: InstallID?, limit: Int, explains: Bool
    ) async throws -> AudiencePage {
        // One more row than requested shows whether another page follows.
        try await query(audience, from: .installations, explains: explains) {
            $0.page(after: after, limit: limit + 1)
        } decode: { rows, asOf, plan, _, _ in
            AudiencePage(
                asOf: asOf, items: try rows.prefix(limit).map(AudiencePage.Item.init), hasMore: rows.count > limit,
                plan: plan)
        }
    }

    public func waves(
        _ audience: Audience, at time: LocalTime, on day: CalendarDay, explains: Bool
    ) async throws -> AudienceWaves {
        try await query(audience, by: [.timeZone, .utcOffset], explains: explains) {
            $0.waves(time, on: day)
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
            return AudienceWaves(asOf: asOf, waves: waves, withoutTimeZone: withoutTimeZone, plan: plan)
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

    public func identityKey(of app: AppNumber) async throws -> [UInt8] {
        try await sessions.withMoment(of: app) { connection, _ in
            let results = try await connection.execute([
                PostgresStatement(AudienceSessionStatements.identityKey, app.rawValue),
                PostgresStatement(AudienceSessionStatements.commit),
            ])
            // A standby that lags does not have a new app yet.
            guard let row = results[0].first else { throw StoreError.unavailable }
            return try row.decode(0)
        }
    }

    /// The rows of a result.
    private enum Source {
        /// Counts of installations, from the roll-up if it has all fields.
        case counts
        case installations
        /// A row for each topic of an installation. Another statement counts the installations.
        case subscriptions
    }

    /// Executes one query in one snapshot.
    ///
    /// - Parameters:
    ///   - fields: the fields of the query, in addition to the filter's.
    ///   - findsUnknownValues: whether one more statement of the same round trip looks up the values of the filter.
    private func query<Value>(
        _ audience: Audience, by fields: [AudienceField] = [], from wanted: Source = .counts,
        findsUnknownValues: Bool = false, explains: Bool,
        _ statement: (AudienceStatements) -> PostgresSQL,
        decode: (PostgresResult, Timestamp, AudiencePlan?, [UnknownValue], _ installations: Int64?) throws -> Value
    ) async throws -> Value {
        try await sessions.withMoment(of: audience.app) { connection, moment in
            let asOf = moment.asOf
            let source: AudienceSource =
                switch wanted {
                case .counts: .counting(audience, by: Set(fields), at: moment)
                case .installations: .installations(audience, at: asOf)
                case .subscriptions: .subscriptions(audience, by: fields, at: moment)
                }
            let sql = statement(AudienceStatements(audience, at: asOf, source))
            let explanation =
                explains ? [AudienceSessionStatements.rowsOfTable, AudienceSessionStatements.explain(sql)] : []
            let values = KnownValues(audience)
            let lookUp = findsUnknownValues ? values.lookUp.map { [$0] } ?? [] : []
            var total: [PostgresStatement] = []
            if wanted == .subscriptions {
                let count = AudienceStatements(audience, at: asOf, .counting(audience, by: [], at: moment)).count
                total = [PostgresStatement(count).unprepared()]
            }
            let results = try await connection.execute(
                [PostgresStatement(sql).unprepared()] + explanation + total + lookUp
                    + [PostgresStatement(AudienceSessionStatements.commit)],
                timeout: sessions.timeout)
            let plan =
                explains
                ? AudienceExplanation.plan(
                    try results[2][0].decode(0), tableRows: try results[1][0].decode(0), isRollUp: source.rollUp != nil)
                : nil
            let unknown =
                lookUp.isEmpty ? [] : try await values.unknown(results[results.count - 2], connection)
            let installations: Int64? = try total.isEmpty ? nil : results[1 + explanation.count][0].decode(0)
            return try decode(results[0], asOf, plan, unknown, installations)
        }
    }
}

// MARK: - Exports

extension PostgresAudienceStore {
    public func makeExportSlot() async throws -> any Sendable {
        try await exportSlots.acquire()
    }

    public func export(
        _ audience: Audience, _ columns: [ExportColumn], after: InstallID?,
        _ consume: (ExportRows) async throws -> Void
    ) async throws {
        let deadline = sessions.limits.exportDeadline
        try await sessions.withMoment(of: audience.app) { connection, moment in
            let asOf = moment.asOf
            let statements = AudienceStatements(audience, at: asOf, .installations(audience, at: asOf))
            let copy = ExportCopy(connection: connection, deadline: deadline)
            try await copy.read(statements.export(columns, after: after), consume)
            _ = try await connection.execute(PostgresStatement(AudienceSessionStatements.commit))
        }
    }
}
