extension PostgresClient {
    /// Lends a connection alone. One that comes back with a transaction open is closed.
    public nonisolated func withConnection<Value>(
        _ body: (PostgresConnection) async throws -> Value
    ) async throws -> Value {
        let loan = try await borrow(.exclusive)
        do {
            let value = try await body(loan.connection)
            await giveBack(loan)
            return value
        } catch {
            await giveBack(loan)
            throw error
        }
    }

    /// Lends a transaction. It commits when `body` returns, unless `body` did, and is rolled back when `body` throws.
    ///
    /// BEGIN goes out with the first unit and COMMIT with the last, where that is given to `commit(after:)`: a
    /// transaction of two units costs two round trips.
    ///
    /// A cancelled task sends no further unit: `execute` and `commit` throw `cancelled`, and nothing stays behind.
    public nonisolated func withTransaction<Value>(
        _ mode: PostgresTransactionMode = .readCommitted, timeout: Duration? = nil,
        _ body: (PostgresTransaction) async throws -> Value
    ) async throws -> Value {
        let start = ContinuousClock.now
        return try await withConnection { connection in
            let transaction = PostgresTransaction(connection, mode, timeout: timeout ?? limits.unitTimeout)
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
