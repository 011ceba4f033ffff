/// How a transaction begins.
public struct PostgresTransactionMode: Sendable {
    let begin: PreparedSQL

    public static let readCommitted = Self(begin: PreparedSQL("BEGIN ISOLATION LEVEL READ COMMITTED"))
    /// One moment of the database, for reading only.
    public static let snapshot = Self(begin: PreparedSQL("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"))
}

/// A transaction, lent by `PostgresClient.withTransaction`.
public final class PostgresTransaction {
    private enum Phase {
        case new
        case open
        case ended
    }

    private static let commitSQL = PreparedSQL("COMMIT")
    private static let rollBackSQL = PreparedSQL("ROLLBACK")

    private let connection: PostgresConnection
    private let mode: PostgresTransactionMode
    private let timeout: Duration
    private var phase = Phase.new

    init(_ connection: PostgresConnection, _ mode: PostgresTransactionMode, timeout: Duration) {
        self.connection = connection
        self.mode = mode
        self.timeout = timeout
    }

    /// Sends a unit and waits for its results. Whatever fails, nothing is committed yet, so losing the connection here
    /// is safe to retry.
    public func execute(_ unit: [PostgresStatement]) async throws(PostgresError) -> [PostgresResult] {
        try checkOpen()
        do throws(PostgresError) {
            return try await send(unit)
        } catch {
            throw error.beforeCommit()
        }
    }

    public func execute(_ statement: PostgresStatement) async throws(PostgresError) -> PostgresResult {
        try await execute([statement])[0]
    }

    /// Sends the last unit with COMMIT behind it, which is not executed when one of the unit's statements fails.
    ///
    /// - Throws: with `unknownOutcome` if the connection was lost before the response came.
    @discardableResult
    public func commit(after unit: [PostgresStatement] = []) async throws(PostgresError) -> [PostgresResult] {
        try checkOpen()
        guard phase == .open || !unit.isEmpty else { return [] }
        var results = try await send(unit + [PostgresStatement(Self.commitSQL)])
        phase = .ended
        // COMMIT of a transaction that has failed is answered with ROLLBACK, and with no error.
        guard results.removeLast().commandTag == "COMMIT" else { throw PostgresError(.transactionAborted) }
        return results
    }

    private func send(_ unit: [PostgresStatement]) async throws(PostgresError) -> [PostgresResult] {
        guard phase == .new else { return try await connection.execute(unit, timeout: timeout) }
        phase = .open
        let results = try await connection.execute([PostgresStatement(mode.begin)] + unit, timeout: timeout)
        return Array(results.dropFirst())
    }

    private func checkOpen() throws(PostgresError) {
        guard phase != .ended else { throw PostgresError(.closed, message: "the transaction has ended", retry: .no) }
        guard !Task.isCancelled else { throw PostgresError(.cancelled) }
    }

    /// After `body` returned.
    func finish() async throws(PostgresError) {
        guard phase == .open else { return }
        try await commit()
    }

    /// After `body` threw. Where it cannot be rolled back the connection is not clean and the pool closes it.
    func rollBack() async {
        guard phase == .open else { return }
        phase = .ended
        _ = try? await connection.execute([PostgresStatement(Self.rollBackSQL)], timeout: timeout)
    }
}
