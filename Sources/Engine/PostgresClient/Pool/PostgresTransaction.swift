/// The isolation level of a transaction.
public struct PostgresTransactionMode: Sendable {
    let begin: PreparedSQL

    /// Each statement sees what was committed before it began:
    /// <https://www.postgresql.org/docs/15/transaction-iso.html>.
    public static let readCommitted = Self(begin: PreparedSQL("BEGIN ISOLATION LEVEL READ COMMITTED"))
    /// Reads one snapshot of the database; read-only.
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
    private let first: [PostgresStatement]
    private let timeout: Duration
    private var phase = Phase.new

    /// - Parameter settings: `SET LOCAL` statements.
    init(
        _ connection: PostgresConnection, _ mode: PostgresTransactionMode, settings: [PostgresStatement],
        timeout: Duration
    ) {
        self.connection = connection
        first = [PostgresStatement(mode.begin)] + settings
        self.timeout = timeout
    }

    /// Sends a unit and waits for its results. Nothing is committed yet, so a lost connection is safe to retry here.
    public func execute(_ unit: [PostgresStatement]) async throws(PostgresError) -> [PostgresResult] {
        try checkOpen()
        do throws(PostgresError) {
            return try await send(unit)
        } catch {
            throw error.beforeCommit()
        }
    }

    /// Sends one statement as a unit.
    public func execute(_ statement: PostgresStatement) async throws(PostgresError) -> PostgresResult {
        try await execute([statement])[0]
    }

    /// Sends the last unit followed by COMMIT, which is not executed if one of the unit's statements fails.
    ///
    /// - Throws: with `unknownOutcome` if the connection was lost before the response arrived.
    @discardableResult
    public func commit(after unit: [PostgresStatement] = []) async throws(PostgresError) -> [PostgresResult] {
        try checkOpen()
        guard phase == .open || !unit.isEmpty else { return [] }
        var results = try await send(unit + [PostgresStatement(Self.commitSQL)])
        phase = .ended
        // The server responds to COMMIT of a failed transaction with ROLLBACK, without an error.
        guard results.removeLast().commandTag == "COMMIT" else { throw PostgresError(.transactionAborted) }
        return results
    }

    private func send(_ unit: [PostgresStatement]) async throws(PostgresError) -> [PostgresResult] {
        guard phase == .new else { return try await connection.execute(unit, timeout: timeout) }
        phase = .open
        let results = try await connection.execute(first + unit, timeout: timeout)
        return Array(results.dropFirst(first.count))
    }

    private func checkOpen() throws(PostgresError) {
        guard phase != .ended else { throw PostgresError(.closed, message: "the transaction has ended", retry: .no) }
        guard !Task.isCancelled else { throw PostgresError(.cancelled) }
    }

    /// Called after `body` has returned.
    func finish() async throws(PostgresError) {
        guard phase == .open else { return }
        try await commit()
    }

    /// Called after `body` has thrown. If the rollback fails, the pool closes the connection.
    func rollBack() async {
        guard phase == .open else { return }
        phase = .ended
        _ = try? await connection.execute([PostgresStatement(Self.rollBackSQL)], timeout: timeout)
    }
}

extension PostgresClient {
    /// Lends a connection exclusively. It is closed if it is returned with an open transaction.
    public nonisolated func withConnection<Value>(
        _ body: (PostgresConnection) async throws -> Value
    ) async throws -> Value {
        let loan = try await borrow(.exclusive)
        do {
            let value = try await body(loan.connection)
            await release(loan)
            return value
        } catch {
            await release(loan)
            throw error
        }
    }

    /// Lends a transaction. It commits when `body` returns, unless `body` has committed, and rolls back if `body`
    /// throws.
    ///
    /// BEGIN is sent with the first unit, and COMMIT with the last if that is passed to `commit(after:)`: a transaction
    /// of two units takes two round trips.
    ///
    /// A cancelled task sends no further unit: `execute` and `commit` throw `cancelled`, and the transaction is rolled
    /// back.
    public nonisolated func withTransaction<Value>(
        _ mode: PostgresTransactionMode = .readCommitted, timeout: Duration? = nil,
        _ body: (PostgresTransaction) async throws -> Value
    ) async throws -> Value {
        let start = ContinuousClock.now
        return try await withConnection { connection in
            let transaction = PostgresTransaction(
                connection, mode, settings: configuration.transactionSettings, timeout: timeout ?? limits.unitTimeout)
            do {
                let value = try await body(transaction)
                try await transaction.finish()
                await transactionEnded(since: start)
                return value
            } catch {
                await transaction.rollBack()
                if let error = error as? PostgresError { await count(error) }
                throw error
            }
        }
    }
}
