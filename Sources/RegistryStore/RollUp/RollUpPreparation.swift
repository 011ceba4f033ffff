import PostgresClient
import PushRegistry

/// The preparation of a process before it folds. It resets horizons that would hide the deltas of a restored dump,
/// whose transaction numbers are those of another database. It reads the names of time zones, which an upgrade of
/// PostgreSQL or tzdata may have changed.
struct RollUpPreparation {
    static let named = [
        NamedStatement(
            "resetHorizons", serving: "Service, at start (R13): resets horizons after a restored dump.", resetHorizons),
        NamedStatement(
            "learnZones", serving: "Service, at start (R13): updates the names of time zones.", learnZones),
        NamedStatement(
            "apps", serving: "Service, at start (R13): finds apps with installations in such a zone.", apps(with: [])),
    ]

    let postgres: PostgresClient

    func run() async throws {
        _ = try await postgres.execute(Self.resetHorizons)
        let names: [String] = try await postgres.execute(Self.learnZones).map { try $0.decode(0) }
        guard !names.isEmpty else { return }
        for row in try await postgres.execute(Self.apps(with: names)) {
            try await assignCells(of: AppNumber(try row.decode(0)))
        }
    }

    /// Cells distinguish offsets only of unknown zones.
    private func assignCells(of app: AppNumber) async throws {
        var assignment = RollUpCellAssignment(app)
        var unit: [PostgresStatement]? = assignment.first
        while let statements = unit { unit = try assignment.next(try await postgres.execute(statements)) }
    }

    /// A horizon is valid if no delta is older.
    private static let resetHorizons = PostgresStatement(
        """
        UPDATE rollup_state s SET horizon = 0
        WHERE EXISTS (SELECT FROM rollup_delta d WHERE d.app_id = s.app_id AND d.transaction_id < s.horizon)
        """
    ).unprepared()

    /// Returns the names that were added and removed.
    private static let learnZones = PostgresStatement(
        """
        WITH changed AS MATERIALIZED (
            SELECT t.name AS came, k.name AS went
            FROM pg_timezone_names t FULL JOIN known_time_zone k ON k.name = t.name
            WHERE t.name IS NULL OR k.name IS NULL
        ), removed AS (
            DELETE FROM known_time_zone WHERE name IN (SELECT went FROM changed)
        ), added AS (
            INSERT INTO known_time_zone SELECT came FROM changed WHERE came IS NOT NULL ON CONFLICT DO NOTHING
        )
        SELECT coalesce(came, went) FROM changed
        """
    ).unprepared()

    static func apps(with zones: [String]) -> PostgresStatement {
        PostgresStatement(
            """
            SELECT DISTINCT c.app_id FROM rollup_cell c
            JOIN rollup_text z ON z.app_id = c.app_id AND z.number = c.zone_number
            WHERE z.text = ANY (\(zones))
            """
        ).unprepared()
    }
}
