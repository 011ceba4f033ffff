import PostgresClient
import PushRegistry

/// The rows of a query by COPY. PostgreSQL sends them as it finds them, and waits while the client does not read.
struct ExportCopy {
    /// The size of rows that are passed on at once: work of a quarter of a millisecond, after which other jobs of the
    /// loop run.
    private static let bytesMax = 64 * 1_024

    let connection: PostgresConnection
    /// The time limit of the export.
    let deadline: Duration

    /// Passes all rows to `consume`. An error closes the connection and drops the received rows.
    ///
    /// - Throws: `AudienceRefusal.exportExpired` after the deadline; what `consume` throws.
    func read(_ query: PostgresSQL, _ consume: (ExportRows) async throws -> Void) async throws {
        _ = try await connection.execute(AudienceSessionStatements.limitTime(deadline))
        do {
            try await connection.beginCopy(of: query, timeout: deadline)
            while let rows = try await connection.nextCopyRows(bytesMax: Self.bytesMax) {
                try await consume(ExportRows(bytes: rows.bytes, count: rows.count))
            }
        } catch let error as PostgresError where error.kind == .timeout {
            throw AudienceRefusal.exportExpired
        }
    }
}
