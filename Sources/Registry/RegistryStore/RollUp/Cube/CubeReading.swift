import Basics
import PostgresClient
import PushRegistry

/// The reading of an app's cube in one snapshot. A value that returns the statements to send, so that a loop's
/// connection and a blocking session drive the same steps. The statements are of one transaction; those of `texts` may
/// follow it.
struct CubeReading: Sendable {
    /// Following more deltas than this takes longer than reading the cube anew.
    static let followedMax: Int64 = 200_000

    private let app: AppNumber
    let moment: AudienceMoment
    private let choices: [Int32]
    private let horizon: Int64
    private let folded: Int64
    private let needsZones: Bool
    private var cube: AppCube
    /// Choices that the cube has, up to `cube.since`.
    private let known: [Int32]
    /// Choices that are read from the database's cube, which has the deltas before the horizon.
    private let unknown: [Int32]
    private var late: [Int32: [AppCube.Row]] = [:]
    private var zones: [String: Int64] = [:]

    /// - Parameters:
    ///   - choices: the layers (`RollUpLayer`) that the query needs.
    ///   - cached: read before the transaction began.
    init(
        of app: AppNumber, _ choices: [Int32], needsZones: Bool = false, cached: AppCube?, at moment: AudienceMoment
    ) throws {
        (self.app, self.choices, self.needsZones, self.moment) = (app, choices, needsZones, moment)
        guard let state = moment.state else { throw StoreError.unavailable }
        (horizon, folded) = (try state.decode(0), try state.decode(1))
        let version: Int64 = try state.decode(2)
        let keptSince: Int64 = try state.decode(3)
        if let cached, cached.identity == moment.identity, cached.version == version, cached.since >= keptSince,
            cached.since <= moment.firstRunning, folded - cached.folded <= Self.followedMax
        {
            cube = cached
        } else {
            cube = AppCube(identity: moment.identity, version: version)
        }
        known = cube.layers.keys.sorted()
        unknown = choices.filter { [cube] in cube.layers[$0] == nil }
    }

    /// The second unit.
    var statements: [PostgresStatement] {
        var statements: [PostgresStatement] = []
        for (choices, since) in parts {
            statements += [
                CubeStatements.changes(app.rawValue, choices, since, moment.firstRunning),
                CubeStatements.expiring(app.rawValue, choices, since),
            ]
        }
        if !unknown.isEmpty { statements.append(CubeStatements.cube(app.rawValue, unknown)) }
        statements.append(CubeStatements.expired(app.rawValue, choices, moment.asOf.postgres))
        return needsZones ? statements + [CubeStatements.zones(of: app, at: moment.asOf)] : statements
    }

    private var parts: [(choices: [Int32], since: Int64)] {
        [(known, cube.since), (unknown, horizon)].filter { !$0.0.isEmpty }
    }

    /// - Parameter results: of `statements`.
    mutating func read(_ results: ArraySlice<PostgresResult>) throws {
        var results = results
        func next() throws -> PostgresResult {
            guard let result = results.popFirst() else { throw StoreError.failed("a result is missing") }
            return result
        }
        for choice in unknown { cube.add([], [], droppingBefore: 0, to: choice) }
        let parts = parts
        for _ in parts {
            try readChanges(try next())
            try readExpiring(try next())
        }
        if !unknown.isEmpty { try readCube(try next()) }
        (cube.since, cube.folded) = (moment.firstRunning, folded)
        try readExpired(try next())
        if needsZones { zones = try Self.zones(next()) }
    }

    /// - Parameter result: of `CubeStatements.zones`.
    static func zones(_ result: PostgresResult) throws -> [String: Int64] {
        var zones: [String: Int64] = [:]
        for row in result {
            if let offset = try row.decode(1, as: Int32?.self) { zones[try row.decode(0)] = Int64(offset) }
        }
        return zones
    }

    /// As `CubeCells.texts(of:)`.
    var texts: PostgresStatement? { cube.cells.texts(of: app) }

    mutating func read(texts: PostgresResult) throws { try cube.cells.read(texts: texts) }

    /// What the snapshot has, and the cube for the next query.
    var view: CubeView { CubeView(cube: cube, late: late, moment: moment, zones: zones) }
    var advanced: AppCube { cube }
}

// MARK: - Rows

extension CubeReading {
    private mutating func readCube(_ result: PostgresResult) throws {
        var rows: [Int32: [AppCube.Row]] = [:]
        for row in result {
            let cell = try cube.cells.index(of: try row.decode(1), row, from: 5)
            let counts = AppCube.Counts(
                reachable: try row.decode(2), active: try row.decode(3), installations: try row.decode(4))
            rows[try row.decode(0), default: []].append(AppCube.Row(cell: cell, counts: counts))
        }
        for (choice, rows) in rows { cube.add(rows, [], droppingBefore: 0, to: choice) }
    }

    private mutating func readChanges(_ result: PostgresResult) throws {
        var settled: [Int32: [AppCube.Row]] = [:]
        for row in result {
            let cell = try cube.cells.index(of: try row.decode(1), row, from: 6)
            let (active, expired) = (try row.decode(3, as: Int64.self), try row.decode(5, as: Int64.self))
            let choice: Int32 = try row.decode(0)
            let counts = AppCube.Counts(
                reachable: reaches(choice, cell) ? active - expired : 0, active: active,
                installations: try row.decode(4))
            let change = AppCube.Row(cell: cell, counts: counts)
            if try row.decode(2) {
                late[choice, default: []].append(change)
            } else {
                settled[choice, default: []].append(change)
            }
        }
        for (choice, rows) in settled { cube.add(rows, [], droppingBefore: 0, to: choice) }
    }

    private func reaches(_ choice: Int32, _ cell: Int32) -> Bool {
        RollUpLayer.reaches(choice, isAdmitted: cube.cells.isAdmitted[Int(cell)])
    }

    /// Deltas before the horizon have their expiries in `rollup_expiry`.
    private mutating func readExpiring(_ result: PostgresResult) throws {
        var settled: [Int32: [AppCube.Expiring]] = [:]
        for row in result {
            let transaction: Int64 = try row.decode(2)
            let choice: Int32 = try row.decode(0)
            guard transaction >= horizon, let cell = cube.cells.index(of: try row.decode(1)), reaches(choice, cell)
            else { continue }
            let expiring = AppCube.Expiring(
                transaction: transaction, expiresAt: try row.decode(3), cell: cell, active: try row.decode(4))
            if transaction < moment.firstRunning {
                settled[choice, default: []].append(expiring)
            } else if expiring.expiresAt <= moment.asOf.postgres {
                late[choice, default: []].append(expiring.lost)
            }
        }
        for choice in cube.layers.keys {
            cube.add([], settled[choice] ?? [], droppingBefore: horizon, to: choice)
        }
    }

    /// Sessions that have expired and are not swept yet.
    private mutating func readExpired(_ result: PostgresResult) throws {
        for row in result {
            guard let cell = cube.cells.index(of: try row.decode(1)) else { continue }
            late[try row.decode(0), default: []].append(
                AppCube.Row(cell: cell, counts: AppCube.Counts(reachable: -(try row.decode(2, as: Int64.self)))))
        }
        for choice in choices {
            let expired = cube.layers[choice]?.expiring.filter { $0.expiresAt <= moment.asOf.postgres } ?? []
            late[choice, default: []] += expired.map(\.lost)
        }
    }
}

extension AppCube.Expiring {
    fileprivate var lost: AppCube.Row { AppCube.Row(cell: cell, counts: AppCube.Counts(reachable: -active)) }
}

/// The counts of an app's installations in one snapshot.
struct CubeView: Sendable {
    let cube: AppCube
    /// The changes of transactions that the cube does not have, by choice, and expired sessions; none at a past moment.
    var late: [Int32: [AppCube.Row]] = [:]
    let moment: AudienceMoment
    /// The present offsets of the zones that PostgreSQL knows and that installations of the app have, in seconds.
    let zones: [ExactText: Int64]

    init(
        cube: AppCube, late: [Int32: [AppCube.Row]] = [:], moment: AudienceMoment, zones: [String: Int64]
    ) {
        (self.cube, self.late, self.moment) = (cube, late, moment)
        self.zones = Dictionary(uniqueKeysWithValues: zones.map { (ExactText($0), $1) })
    }

    var cells: CubeCells { cube.cells }

    /// The installations with a choice, by the index of their cell.
    func counts(_ choice: Int32, _ include: AudienceInclude) -> [Int64] {
        var counts = [Int64](repeating: 0, count: cells.count)
        for row in cube.layers[choice]?.rows ?? [] { counts[Int(row.cell)] += row.counts.count(include) }
        for row in late[choice] ?? [] { counts[Int(row.cell)] += row.counts.count(include) }
        return counts
    }

    /// The sum of the counts of some cells.
    func sum(_ choice: Int32, _ include: AudienceInclude, where isSelected: [Bool]) -> Int64 {
        var sum: Int64 = 0
        for row in cube.layers[choice]?.rows ?? [] where isSelected[Int(row.cell)] { sum += row.counts.count(include) }
        for row in late[choice] ?? [] where isSelected[Int(row.cell)] { sum += row.counts.count(include) }
        return sum
    }

    /// Whether overflow cells count installations. The cube knows only the provider and the authorization of these.
    var overflows: Bool {
        guard !cells.overflowCells.isEmpty else { return false }
        let counts = counts(0, .all)
        return cells.overflowCells.contains { counts[Int($0)] != 0 }
    }

    /// The most frequent values of a field of texts.
    func names(of field: AudienceField, countMax: Int) -> [String] {
        let column =
            switch field {
            case .locale: cells.locales
            case .timeZone: cells.zones
            case .systemName: cells.systems
            default: cells.versions
            }
        var sums = [Int64](repeating: 0, count: cells.texts.count)
        for (cell, count) in counts(0, .all).enumerated() { sums[Int(column[cell])] += count }
        return sums.indices.dropFirst().filter { sums[$0] > 0 }.sorted { sums[$0] > sums[$1] }.prefix(countMax)
            .map { cells.texts[$0].text }
    }
}

/// The SQL that reads an app's cube, for counts, breakdowns and waves (R13). `$1` is the app.
enum CubeStatements {
    /// Every audience call (R7, R13): reads which deltas are folded and kept, and the last sweep's time.
    static let state = PreparedSQL(
        "SELECT horizon, folded, version, marks[1], swept_until FROM rollup_state WHERE app_id = $1")

    /// Audience counts, where a process does not have the cube yet (R13): reads the folded counts.
    /// `$2` are layers.
    static let cube = PreparedSQL(
        """
        SELECT b.topic, b.cell, CASE WHEN \(sql: RollUpLayer.reaches("b.topic")) THEN b.reachable ELSE 0 END,
            b.active, b.installations, \(sql: cell)
        FROM rollup_cube b JOIN rollup_cell c ON c.app_id = b.app_id AND c.number = b.cell
        WHERE b.app_id = $1 AND b.topic = ANY ($2)
        """)

    /// The deltas from the transaction `$3` on. Those of transactions from `$4` on are apart: others of them may still
    /// run. Each cell is looked up by its key, whatever the planner's statistics are.
    static let changes = PreparedSQL(
        """
        SELECT d.topic, d.cell, d.is_late, d.active, d.installations, d.expired, \(sql: cell)
        FROM (
            SELECT topic, cell, transaction_id >= $4 AS is_late, sum_counts(active) AS active,
                sum_counts(installations) AS installations, sum_counts(expired) AS expired
            FROM rollup_delta WHERE app_id = $1 AND topic = ANY ($2) AND transaction_id >= $3
            GROUP BY 1, 2, 3) AS d
        CROSS JOIN LATERAL (
            SELECT c.* FROM rollup_cell c WHERE c.app_id = $1 AND c.number = d.cell OFFSET 0) AS c
        """)

    /// Those of the same deltas that have an expiry.
    static let expiring = PreparedSQL(
        """
        SELECT topic, cell, transaction_id, expires_at, active FROM rollup_delta
        WHERE app_id = $1 AND topic = ANY ($2) AND transaction_id >= $3 AND expires_at IS NOT NULL
        """)

    /// Audience counts of reachable installations (R7, R13): reads sessions that expired until $3.
    static let expired = PreparedSQL(
        """
        SELECT topic, cell, sum_counts(active) FROM rollup_expiry
        WHERE app_id = $1 AND topic = ANY ($2) AND expires_at <= $3
        GROUP BY topic, cell
        """)

    /// Audience counts, where cells are new to a process (R13): reads their texts.
    static let texts = PreparedSQL(
        "SELECT number, text FROM rollup_text WHERE app_id = $1 AND number = ANY ($2)")

    /// Audience counts by offset or local time: reads offsets of zones.
    static func zones(of app: AppNumber, at asOf: Timestamp) -> PostgresStatement {
        PostgresStatement("WITH \(sql: ZoneOffsets.definition(at: asOf, of: app)) SELECT * FROM zone")
    }

    static let cell: PostgresSQL = """
        c.provider::text, c.authorization_status::text, c.is_admitted, c.locale_number, c.zone_number, \
        c.system_number, c.spelling_number, c.version_number, c.time_zone_offset
        """
}
