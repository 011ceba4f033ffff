import PostgresClient

/// The SQL that prepares a process that folds (R13).
enum RollUpPreparationStatements {
    /// Also records the names that came and went, in the same transaction.
    static let learnZones = PostgresStatement(
        """
        WITH changed AS MATERIALIZED (
            SELECT t.name AS came, k.name AS went
            FROM pg_timezone_names t FULL JOIN known_time_zone k ON k.name = t.name
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
    ).unprepared()

    /// Service, at start (R13): reads names that came or went.
    static let changedZones = PostgresStatement("SELECT name FROM changed_time_zone").unprepared()

    /// Service, at start (R13): forgets names whose installations have their cells.
    static func forget(_ zones: [String]) -> PostgresStatement {
        PostgresStatement("DELETE FROM changed_time_zone WHERE name = ANY (\(zones))").unprepared()
    }

    /// Service, at start (R13): finds apps with installations in such a zone.
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
