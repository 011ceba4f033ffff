import PostgresClient

extension RegistryApp {
    private struct NightJobFailed: Error {
        let log: String
    }

    /// Lets the night job record the app, as if it had been the same on each of these days.
    ///
    /// - Parameter days: all above 1. The job's own record is of one of the last two days; it goes.
    /// - Returns: the days, the earliest first, such as `2026-03-01`.
    @discardableResult
    public func recordCounts(daysAgo days: [Int64]) async throws -> [String] {
        let night = try await registry.run(["cleanup", "--app", id, "--max-share", "100%"])
        guard night.status == 0 else { throw NightJobFailed(log: night.log) }
        let recorded = try await database.rows(
            """
            INSERT INTO rollup_history (app_id, day, topic, as_of, counts)
            SELECT h.app_id, d, h.topic, (d + 1)::timestamp AT TIME ZONE 'UTC', h.counts
            FROM (
                SELECT DISTINCT ON (topic) * FROM rollup_history
                WHERE app_id = (SELECT id FROM app WHERE identifier = \(id)) ORDER BY topic, as_of DESC) AS h
            CROSS JOIN LATERAL (
                SELECT (now() AT TIME ZONE 'UTC')::date - n::int AS d FROM unnest(\(days)) AS s (n)) AS days
            RETURNING day::text
            """)
        _ = try await database.rows(
            """
            DELETE FROM rollup_history
            WHERE app_id = (SELECT id FROM app WHERE identifier = \(id))
                AND day > (now() AT TIME ZONE 'UTC')::date - 2
            """)
        return Set(try recorded.map { try $0.decode(0, as: String.self) }).sorted()
    }
}
