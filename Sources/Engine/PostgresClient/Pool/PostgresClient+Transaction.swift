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
