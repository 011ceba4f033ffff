import EventLoop
import PostgresClient
import PushRegistry

/// A query whose rows come piece by piece: planned once, so that each piece goes on where the last one ended.
struct ExportCursor: Sendable {
    /// About 600 KB: enough to hide the round trip behind the writing, little enough to be kept twice.
    private static let rowsPerFetch = 2_000
    private static let fetchSQL = PreparedSQL("FETCH 2000 FROM export")

    let connection: PostgresConnection
    /// How long the reading may take.
    let deadline: Duration

    /// Hands out all rows; while `consume` is busy with some the server finds the next ones.
    ///
    /// - Throws: `AudienceRefusal.exportExpired` after the deadline; what `consume` throws.
    func read(_ query: PostgresSQL, _ consume: (PostgresResult) async throws -> Void) async throws {
        let end = ContinuousClock.now + deadline
        var rows = try await open(query)
        // On the loop: a fetch that began on another thread would begin late.
        try await withTaskExecutorPreference(connection.loop) {
            while rows.count == Self.rowsPerFetch {
                guard ContinuousClock.now < end else { throw AudienceRefusal.exportExpired }
                async let next = fetch()
                do {
                    try await consume(rows)
                } catch {
                    // The fetch under way would be waited for.
                    await connection.close()
                    throw error
                }
                rows = try await next
            }
            if !rows.isEmpty { try await consume(rows) }
        }
    }

    /// The cursor's plan is made for all rows and not for the first ones.
    private func open(_ query: PostgresSQL) async throws(PostgresError) -> PostgresResult {
        let milliseconds = "\(Int64(deadline / .milliseconds(1)))"
        let results = try await connection.execute(
            [
                """
                SELECT set_config('statement_timeout', \(milliseconds), true),
                    set_config('cursor_tuple_fraction', '1', true)
                """,
                PostgresStatement("DECLARE export NO SCROLL CURSOR FOR \(sql: query)").unprepared(),
                PostgresStatement(Self.fetchSQL).unprepared(),
            ], timeout: deadline)
        return results[2]
    }

    private func fetch() async throws(PostgresError) -> PostgresResult {
        try await connection.execute(PostgresStatement(Self.fetchSQL).unprepared(), timeout: deadline)
    }
}
