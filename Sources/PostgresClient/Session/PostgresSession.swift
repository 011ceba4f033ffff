import Foundation

/// A session that **blocks**, on a thread of its own: for scripts, COPY and the migrator. Never on a loop.
public final class PostgresSession {
    private let handle: ConnectionHandle
    private let cancellation: Cancellation

    init(_ handle: ConnectionHandle, _ cancellation: Cancellation) {
        self.handle = handle
        self.cancellation = cancellation
    }

    /// Starts a thread, connects there, lends the session to `body`, which runs there too, and closes it.
    ///
    /// Cancelling the task lets `body` end at its next `checkCancellation`; a statement under way is not interrupted.
    public static func withSession<Value: Sendable>(
        _ configuration: PostgresConfiguration,
        _ body: @escaping @Sendable (PostgresSession) throws -> Value
    ) async throws -> Value {
        let cancellation = Cancellation()
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Result<Value, any Error>, Never>) in
                let thread = Thread {
                    continuation.resume(returning: Result { try run(configuration, cancellation, body) })
                }
                thread.name = "postgres-session"
                thread.start()
            }
        } onCancel: {
            cancellation.cancel()
        }
        return try outcome.get()
    }

    private static func run<Value>(
        _ configuration: PostgresConfiguration, _ cancellation: Cancellation,
        _ body: (PostgresSession) throws -> Value
    ) throws -> Value {
        let handle = try Connector.connectBlocking(configuration)
        defer { handle.close() }
        return try body(PostgresSession(handle, cancellation))
    }

    public func execute(_ statement: PostgresStatement) throws(PostgresError) -> PostgresResult {
        try handle.query(statement)
    }

    /// Runs SQL of any number of statements, as one transaction unless it says otherwise. For SQL from files that the
    /// product carries; there are no values.
    public func run(script: String) throws(PostgresError) {
        try handle.run(script: script)
    }

    /// Commits when `body` returns and rolls back when it throws.
    ///
    /// - Throws: what `body` throws; `transactionAborted` if a statement of it had failed, so that COMMIT rolled back.
    public func withTransaction<Value>(_ body: () throws -> Value) throws -> Value {
        try run(script: "BEGIN ISOLATION LEVEL READ COMMITTED")
        do {
            let value = try body()
            // COMMIT of a transaction that has failed is answered with ROLLBACK, and with no error.
            guard try execute("COMMIT").commandTag == "COMMIT" else { throw PostgresError(.transactionAborted) }
            return value
        } catch {
            try? run(script: "ROLLBACK")
            throw error
        }
    }

    /// - Throws: `cancelled` once the task that waits for this session is cancelled.
    public func checkCancellation() throws(PostgresError) {
        if cancellation.isCancelled { throw PostgresError(.cancelled) }
    }
}

extension PostgresSession {
    /// Sends rows in binary form: <https://www.postgresql.org/docs/15/sql-copy.html>. All of them are there afterwards,
    /// or none.
    ///
    /// - Parameters:
    ///   - statement: `COPY table (columns) FROM STDIN (FORMAT binary)`; the columns' types must be those that the
    ///     values bind as, or enums for text.
    ///   - produce: writes the rows; what it throws ends the COPY without a row.
    /// - Returns: the number of rows.
    public func copyIn(
        _ statement: PostgresStatement, produce: (PostgresCopyWriter) throws -> Void
    ) throws -> Int {
        try handle.beginCopy(statement)
        let writer = PostgresCopyWriter(handle)
        do {
            try produce(writer)
            try writer.finish()
        } catch {
            _ = try? handle.endCopy(abort: true, statement)
            throw error
        }
        return try handle.endCopy(abort: false, statement).affectedRows
    }
}

/// Whether the task that waits for a session was cancelled. A lock and not an atomic, for Thread Sanitizer's sake.
final class Cancellation: @unchecked Sendable {
    private let lock = NSLock()
    private var isSet = false

    var isCancelled: Bool { lock.withLock { isSet } }

    func cancel() {
        lock.withLock { isSet = true }
    }
}
