import Basics
import Foundation

/// A **blocking** session on its own thread: for scripts, COPY and the migrator. Never use it on a loop.
public final class PostgresSession {
    private let handle: ConnectionHandle
    private let cancellation: Cancellation

    init(_ handle: ConnectionHandle, _ cancellation: Cancellation) {
        self.handle = handle
        self.cancellation = cancellation
    }

    /// Starts a thread, connects, runs `body` there and closes the session.
    ///
    /// Cancelling the task makes `checkCancellation` throw; a running statement is not interrupted.
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

    /// Whether a session keeps its settings while another one works. Behind a pooler that lends the server's sessions
    /// for one transaction each, both have the same one, unless other clients use the pooler at that moment.
    ///
    /// - Throws: `PostgresError`.
    public static func keepsSettings(_ configuration: PostgresConfiguration) async throws -> Bool {
        try await withSession(configuration) { first in
            try first.mark("first")
            // A server that opens no second session shows nothing.
            try? run(configuration, Cancellation()) { try $0.mark("second") }
            let mark: String? = try first.execute("SELECT current_setting('push_registry.session', true)")[0].decode(0)
            return mark == "first"
        }
    }

    private func mark(_ name: String) throws(PostgresError) {
        _ = try execute("SELECT set_config('push_registry.session', \(name), false)")
    }

    private static func run<Value>(
        _ configuration: PostgresConfiguration, _ cancellation: Cancellation,
        _ body: (PostgresSession) throws -> Value
    ) throws -> Value {
        let handle = try Connector.connectBlocking(configuration)
        defer { handle.close() }
        return try body(PostgresSession(handle, cancellation))
    }

    /// Sends one statement, and **blocks** until the server has responded. There is no time limit but the session's
    /// `statement_timeout`.
    public func execute(_ statement: PostgresStatement) throws(PostgresError) -> PostgresResult {
        try handle.query(statement)
    }

    /// Runs SQL with any number of statements, as one transaction unless the SQL says otherwise. For SQL from files of
    /// the product; it takes no values.
    public func run(script: String) throws(PostgresError) {
        try handle.run(script: script)
    }

    /// Commits if `body` returns and rolls back if it throws. Isolation: READ COMMITTED.
    ///
    /// - Throws: the error of `body`; `transactionAborted` if a statement in it failed, so that COMMIT rolled back.
    public func withTransaction<Value>(_ body: () throws -> Value) throws -> Value {
        try run(script: "BEGIN ISOLATION LEVEL READ COMMITTED")
        do {
            let value = try body()
            // The server responds to COMMIT of a failed transaction with ROLLBACK, without an error.
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
    /// Sends rows in binary form: <https://www.postgresql.org/docs/15/sql-copy.html>. Either all of them are inserted
    /// or none.
    ///
    /// - Parameters:
    ///   - statement: `COPY table (columns) FROM STDIN (FORMAT binary)`. The columns must have the types that the
    ///     values bind as, or be enums for text.
    ///   - produce: writes the rows. If it throws, no row is inserted.
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

/// Whether the task that waits for a session was cancelled.
final class Cancellation: Sendable {
    private let isSet = Locked(false)

    var isCancelled: Bool { isSet.withLock { $0 } }

    func cancel() {
        isSet.withLock { $0 = true }
    }
}

/// The rows of a COPY in binary form, lent by `PostgresSession.copyIn`:
/// <https://www.postgresql.org/docs/15/sql-copy.html#id-1.9.3.55.9.4>.
public final class PostgresCopyWriter {
    /// Bytes that are collected before they are passed to libpq: a few network packets.
    private static let chunkBytes = 64 * 1_024
    /// The signature, no flags, no header extension.
    private static let header: [UInt8] =
        Array("PGCOPY\n".utf8) + [0xFF, 0x0D, 0x0A, 0] + [UInt8](repeating: 0, count: 8)
    private static let trailer: Int16 = -1

    private let handle: ConnectionHandle
    private var buffer = PostgresBuffer()
    /// The values of a row.
    private var binds = PostgresBinds()

    init(_ handle: ConnectionHandle) {
        self.handle = handle
        buffer.append(contentsOf: Self.header)
    }

    /// Writes one row. It **blocks** while the server is busy.
    public func write<each Value: PostgresBindable>(_ values: repeat each Value) throws(PostgresError) {
        var count: Int16 = 0
        for _ in repeat (each Value).self { count += 1 }
        buffer.append(count)
        repeat (each values).encodeField(into: &buffer)
        if buffer.bytes.count >= Self.chunkBytes { try flush() }
    }

    /// Writes one row with many columns: `bind` binds them in order.
    public func write(bind: (inout PostgresBinds) -> Void) throws(PostgresError) {
        binds.removeAll()
        bind(&binds)
        buffer.append(Int16(binds.count))
        buffer.append(contentsOf: binds.buffer.bytes)
        if buffer.bytes.count >= Self.chunkBytes { try flush() }
    }

    func finish() throws(PostgresError) {
        buffer.append(Self.trailer)
        try flush()
    }

    private func flush() throws(PostgresError) {
        try handle.putCopyData(buffer.bytes)
        buffer.removeAll()
    }
}
