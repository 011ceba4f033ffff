import PostgresClient
import PushRegistry
import Testing

@testable import RegistryJobs
@testable import RegistryStore

/// The counts of one combination of a cell's values and a choice about a topic.
struct CellCounts: Hashable {
    var reachable: Int64 = 0
    var active: Int64 = 0
    var installations: Int64 = 0
}

extension CubeView {
    /// By the values of cells.
    func counted(by choice: Int32) -> [String: CellCounts] {
        let (reachable, active, all) = (counts(choice, .reachable), counts(choice, .active), counts(choice, .all))
        var result: [String: CellCounts] = [:]
        for cell in all.indices {
            let counts = CellCounts(reachable: reachable[cell], active: active[cell], installations: all[cell])
            guard counts != CellCounts() else { continue }
            let texts = [cells.locales, cells.zones, cells.systems, cells.spellings].map { cells.texts[Int($0[cell])] }
            // 17 and 17.0 are one version.
            #expect(cells.versions[cell] == 0 || cells.texts[Int(cells.versions[cell])].version == texts[3].version)
            let key =
                texts.map(\.text) + [
                    "\(Provider.allCases[Int(cells.providers[cell])])",
                    "\(AuthorizationStatus.allCases[Int(cells.authorizations[cell])])", "\(cells.offsets[cell])",
                ]
            result[key.joined(separator: "|"), default: CellCounts()].add(counts)
        }
        return result
    }
}

extension CellCounts {
    /// Cells of assumed and of known permission have the same values.
    fileprivate mutating func add(_ more: CellCounts) {
        reachable += more.reachable
        active += more.active
        installations += more.installations
    }
}

extension PostgresSession {
    /// The cube of an app in the snapshot of this session's transaction, read as a service does.
    ///
    /// - Parameter after: how much later than the moment sessions are looked at.
    func cube(
        of app: AppNumber, _ choices: [Int32] = [0], in cubes: CubeCache?, cached: AppCube?, after: Duration = .zero
    ) throws -> CubeView {
        let opened = try AudienceMoment.reads(of: app).map(execute)
        var moment = try AudienceMoment(opened)
        moment.asOf = Timestamp(microseconds: moment.asOf.microseconds + Int64(after / .microseconds(1)))
        var reading = try CubeReading(of: app, choices, cached: cached, at: moment)
        try reading.read(try reading.statements.map(execute)[...])
        if let texts = reading.texts { try reading.read(texts: try execute(texts)) }
        cubes?.store(reading.advanced, of: app, replacing: cached)
        return reading.view
    }

    private static let status: PostgresSQL = "(enum_range(NULL::authorization_status))[(settings & 15)::integer + 1]"

    private static let cell: PostgresSQL = """
        concat_ws('|', locale, time_zone_id, system_name, system_version, provider, \(sql: status),
            CASE WHEN time_zone_id IN (SELECT name FROM known_time_zone) THEN 0 ELSE time_zone_offset END)
        """

    private static let allowsPushes: PostgresSQL = """
        (\(sql: status) IN ('authorized', 'provisional', 'ephemeral') OR settings >> 48 & 15 = 1
            OR \(sql: status) = 'unknown' AND provider NOT IN ('apns', 'apnsSandbox'))
        """

    /// The same by the design's definition, from the rows of installations.
    func recount(_ app: AppNumber, _ choice: Int32, asOf: Timestamp) throws -> [String: CellCounts] {
        let rows = try execute(
            PostgresStatement(
                """
                SELECT \(sql: Self.cell),
                    count(*) FILTER (WHERE state = 'active'
                        AND (session_expires_at IS NULL OR session_expires_at > \(asOf.postgres))
                        AND \(sql: Self.allowsPushes)),
                    count(*) FILTER (WHERE state = 'active'), count(*)
                FROM installation WHERE app_id = \(app.rawValue) AND \(choice) = ANY (0 || topics) GROUP BY 1
                """
            ).unprepared())
        return try Dictionary(
            uniqueKeysWithValues: rows.map { row in
                (
                    try row.decode(0),
                    CellCounts(
                        reachable: try row.decode(1), active: try row.decode(2), installations: try row.decode(3))
                )
            })
    }

    /// The typed tokens that are handed out, by the cell of their installation.
    func recount(_ app: AppNumber, _ kind: TokenKind, asOf: Timestamp) throws -> [String: CellCounts] {
        let condition: PostgresSQL = kind.requiresAuthorization ? Self.allowsPushes : "true"
        let rows = try execute(
            PostgresStatement(
                """
                SELECT \(sql: Self.cell), count(*)
                FROM installation JOIN (
                    SELECT install_id AS holder FROM typed_token
                    WHERE app_id = \(app.rawValue) AND kind = \(kind.rawValue)::text::token_kind AND NOT held
                        AND (expires_at IS NULL OR expires_at > \(asOf.postgres))) AS t ON holder = install_id
                WHERE app_id = \(app.rawValue) AND state = 'active'
                    AND (session_expires_at IS NULL OR session_expires_at > \(asOf.postgres)) AND \(sql: condition)
                GROUP BY 1
                """
            ).unprepared())
        return try Dictionary(
            uniqueKeysWithValues: rows.map { (try $0.decode(0), CellCounts(reachable: try $0.decode(1))) })
    }
}

extension TestStores {
    /// Compares cubes with a recount of the installations in one snapshot: the one that the process of this test
    /// follows, and one that is read anew.
    ///
    /// - Parameters:
    ///   - after: how much later than now sessions are looked at.
    ///   - cubes: of the process.
    func expectExact(
        after: Duration = .zero, _ cubes: CubeCache? = nil, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let cubes = cubes ?? self.cubes
        try await PostgresSession.withSession(configuration) { [app] session in
            let codes: [Int32] =
                try [0]
                + session.execute("SELECT DISTINCT unnest(topics) FROM installation ORDER BY 1").map {
                    try $0.decode(0)
                }
            // Before the transaction, as in a service.
            let cached = cubes.cube(of: app.number)
            try session.withTransaction {
                try session.run(script: "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                for old in [cached, nil] {
                    let view = try session.cube(
                        of: app.number, codes + TokenKind.allCases.map(RollUpLayer.tokens),
                        in: old == nil ? nil : cubes, cached: old, after: after)
                    for kind in TokenKind.allCases {
                        let counted = view.counted(by: RollUpLayer.tokens(of: kind)).compactMapValues {
                            $0.reachable == 0 ? nil : CellCounts(reachable: $0.reachable)
                        }
                        let recount = try session.recount(app.number, kind, asOf: view.moment.asOf)
                        #expect(counted == recount, "\(kind), followed: \(old != nil)", sourceLocation: sourceLocation)
                    }
                    for choice in codes {
                        let recount = try session.recount(app.number, choice, asOf: view.moment.asOf)
                        let counted = view.counted(by: choice)
                        let wrong = Set(counted.keys).union(recount.keys).filter { counted[$0] != recount[$0] }
                        #expect(
                            wrong.isEmpty,
                            """
                            choice \(choice), followed: \(old != nil): \(wrong.first.map { counted[$0] } as Any) and \
                            \(wrong.first.map { recount[$0] } as Any)
                            """, sourceLocation: sourceLocation)
                    }
                    if old == nil, cached == nil {
                        _ = try session.cube(of: app.number, codes, in: cubes, cached: nil, after: after)
                    }
                }
            }
        }
    }

    /// The number of deltas that are not folded.
    func waitingDeltas() async throws -> Int64 {
        try await count(
            """
            SELECT count(*) FROM rollup_delta d LEFT JOIN rollup_state s ON s.app_id = d.app_id
            WHERE d.transaction_id >= coalesce(s.horizon, 0)
            """)
    }

    func count(_ statement: PostgresStatement) async throws -> Int64 {
        try await sql(statement)[0].decode(0)
    }

    /// Folds all deltas: those of transactions that others run beside later ones, too.
    ///
    /// - Returns: nil if another session folds.
    @discardableResult
    func fold() async throws -> RollUpFold.Outcome? {
        var sum = RollUpFold.Outcome()
        let deadline = ContinuousClock.now + .seconds(20)
        repeat {
            guard let outcome = try await fold(1_000_000) else { return nil }
            sum.deltas += outcome.deltas
            sum.expiries += outcome.expiries
            // A sweep writes deltas.
        } while try await waitingDeltas() > 0 && ContinuousClock.now < deadline
        return sum
    }

    /// Folds once.
    @discardableResult
    func fold(_ batch: Int) async throws -> RollUpFold.Outcome? {
        try await PostgresSession.withSession(configuration) { [app] session in
            try RollUpFold.run(app.number, batch: batch, in: session)
        }
    }

    /// As if a minute had gone by since the last fold.
    func passMark() async throws {
        _ = try await postgres.execute(["UPDATE rollup_state SET marked_at = '-infinity'"], .alone)
    }

    /// What the roll-up's own invariants find.
    func brokenRollUp() async throws -> Set<String> {
        try await PostgresSession.withSession(configuration) { session in
            try session.withTransaction {
                try session.run(script: "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                return try Set(
                    Invariant.rollUp.filter { try session.execute($0.count)[0].decode(0, as: Int.self) > 0 }.map(\.name)
                )
            }
        }
    }

    /// Changes installations by SQL, and their counts with them, as every writer does; then gives them the cells that
    /// fit.
    func change(_ statement: PostgresStatement) async throws {
        try await PostgresSession.withSession(configuration) { [app] session in
            try session.withTransaction {
                try session.run(
                    script: """
                        LOCK TABLE installation IN SHARE ROW EXCLUSIVE MODE;
                        CREATE TEMP TABLE before ON COMMIT DROP AS SELECT * FROM installation
                        """)
                try countTokens(step: -1, session)
                _ = try session.execute(statement.unprepared())
                try session.run(script: Self.appendDeltas)
                try session.run(script: Self.endTokens)
                try countTokens(step: 1, session)
            }
            _ = try RollUpCellAssignment(app.number).steps.run(in: session)
        }
    }

    private func countTokens(step: Int64, _ session: PostgresSession) throws {
        let ids = try session.execute("SELECT install_id FROM installation").map { try InstallID($0.decode(0)) }
        _ = try session.execute(RollUpDeltaStatements.tokens(of: ids, step: step, in: app.number))
    }

    /// Rule 119.
    private static let endTokens = """
        DELETE FROM typed_token t WHERE NOT EXISTS (
            SELECT FROM installation i WHERE i.app_id = t.app_id AND i.install_id = t.install_id
                AND i.state IN ('active', 'suspect') AND i.provider IN ('apns', 'apnsSandbox'))
        """

    private static let appendDeltas = """
        INSERT INTO rollup_delta (app_id, transaction_id, cell, expires_at, active, installations)
        SELECT app_id, pg_current_xact_id()::text::bigint, cell, expires_at, sum(active), sum(step)
        FROM (
            SELECT app_id, cell, CASE WHEN state = 'active' THEN session_expires_at END AS expires_at,
                CASE WHEN state = 'active' THEN step ELSE 0 END AS active, step
            FROM (
                SELECT app_id, cell, state, session_expires_at, 1 AS step FROM installation
                UNION ALL
                SELECT app_id, cell, state, session_expires_at, -1 FROM before) AS i) AS c
        GROUP BY 1, 3, 4 HAVING sum(active) <> 0 OR sum(step) <> 0
        """
}
