import PostgresClient
import PushRegistry

/// The preparation of a process before it folds. It reads the names of time zones, which an upgrade of PostgreSQL or
/// tzdata may have changed. Changed names are stored until all their installations have their cells, so another process
/// finishes what one leaves.
struct RollUpPreparation {
    let postgres: PostgresClient

    func run() async throws {
        _ = try await postgres.execute(RollUpPreparationStatements.learnZones.unprepared())
        let changed = try await postgres.execute(RollUpPreparationStatements.changedZones)
        let names: [String] = try changed.map { try $0.decode(0) }
        guard !names.isEmpty else { return }
        for row in try await postgres.execute(RollUpPreparationStatements.apps(with: names).unprepared()) {
            // Cells distinguish offsets only of unknown zones.
            let assignment = RollUpCellAssignment(AppNumber(try row.decode(0)))
            _ = try await assignment.steps.run { try await postgres.execute($0) }
        }
        _ = try await postgres.execute(RollUpPreparationStatements.forget(names))
    }
}

/// The SQL that prepares a process that folds (R13).
enum RollUpPreparationStatements {
    /// Also records the names that came and went, in the same transaction. The migration leaves out the same
    /// names, which ZoneOffsetsTests checks.
    static let learnZones: PostgresStatement = """
        WITH changed AS MATERIALIZED (
            SELECT t.name AS came, k.name AS went
            FROM (
                SELECT name FROM pg_timezone_names WHERE name <> ALL (\(TimeZoneLinks.notZones.sorted()))
            ) t FULL JOIN known_time_zone k ON k.name = t.name
            WHERE t.name IS NULL OR k.name IS NULL
        ), recorded AS (
            INSERT INTO changed_time_zone SELECT coalesce(came, went) FROM changed ON CONFLICT DO NOTHING
        ), removed AS (
            DELETE FROM known_time_zone WHERE name IN (SELECT went FROM changed)
        ), added AS (
            INSERT INTO known_time_zone SELECT came FROM changed WHERE came IS NOT NULL ON CONFLICT DO NOTHING
        )
        SELECT count(*) FROM changed
        """

    /// Service, at start (R13): reads names that came or went.
    static let changedZones = PostgresStatement("SELECT name FROM changed_time_zone").unprepared()

    /// Service, at start (R13): forgets names whose installations have their cells.
    static func forget(_ zones: [String]) -> PostgresStatement {
        PostgresStatement("DELETE FROM changed_time_zone WHERE name = ANY (\(zones))").unprepared()
    }

    /// Service, at start (R13): finds apps with installations in such a zone.
    static func apps(with zones: [String]) -> PostgresStatement {
        """
        SELECT DISTINCT c.app_id FROM rollup_cell c
        JOIN rollup_text z ON z.app_id = c.app_id AND z.number = c.zone_number
        WHERE z.text = ANY (\(zones))
        """
    }
}
