import PostgresClient
import PushRegistry

/// What a process does before it folds: it finds again the deltas of a restored dump, whose transactions' numbers mean
/// nothing here, and learns the names of time zones, which an upgrade of PostgreSQL or tzdata may have changed.
struct RollUpPreparation {
    let postgres: PostgresClient

    func run() async throws {
        _ = try await postgres.execute(Self.resetHorizons)
        let names: [String] = try await postgres.execute(Self.learnZones).map { try $0.decode(0) }
        guard !names.isEmpty else { return }
        for row in try await postgres.execute(Self.apps(with: names)) {
            try await assignCells(of: AppNumber(try row.decode(0)))
        }
    }

    /// Cells tell offsets apart only of zones that are not known.
    private func assignCells(of app: AppNumber) async throws {
        var assignment = RollUpCellAssignment(app)
        var unit: [PostgresStatement]? = assignment.first
        while let statements = unit { unit = try assignment.next(try await postgres.execute(statements)) }
    }

    /// Start of a service (R13): a horizon is right if no delta is older.
    private static let resetHorizons = PostgresStatement(
        """
        UPDATE rollup_state s SET horizon = 0
        WHERE EXISTS (SELECT FROM rollup_delta d WHERE d.app_id = s.app_id AND d.transaction_id < s.horizon)
        """
    ).unprepared()

    /// Start of a service: brings `known_time_zone` up to date, and answers the names that came and went.
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

    private static func apps(with zones: [String]) -> PostgresStatement {
        PostgresStatement(
            """
            SELECT DISTINCT c.app_id FROM rollup_cell c
            JOIN rollup_text z ON z.app_id = c.app_id AND z.number = c.zone_number
            WHERE z.text = ANY (\(zones))
            """
        ).unprepared()
    }
}
