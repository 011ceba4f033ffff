import CPostgres
import Foundation
import Glibc

/// Calls that **block** until the server has responded. Only for dedicated threads, and outside pipeline mode:
/// <https://www.postgresql.org/docs/15/libpq-exec.html>.
extension ConnectionHandle {
    func query(_ statement: PostgresStatement) throws(PostgresError) -> PostgresResult {
        try succeeded(exec(statement), statement.text)
    }

    /// As `query`, with a deadline: libpq's blocking calls have none.
    func query(_ statement: PostgresStatement, within limit: Duration) throws(PostgresError) -> PostgresResult {
        let deadline = ContinuousClock.now + limit
        let isSent = parameters.with(statement.binds) {
            PQsendQueryParams(
                connection, statement.text, CInt(statement.binds.count), $0.types, $0.values, $0.lengths, $0.formats, 1)
        }
        guard isSent == 1, let result = try nextResult(until: deadline) else { throw lost() }
        while let rest = try nextResult(until: deadline) { PQclear(rest) }
        return try succeeded(ResultHandle(result), statement.text)
    }

    private func nextResult(until deadline: ContinuousClock.Instant) throws(PostgresError) -> OpaquePointer? {
        while PQisBusy(connection) == 1 {
            let left = (deadline - .now).components
            guard left.seconds >= 0, left.attoseconds >= 0 else {
                throw PostgresError(
                    .unavailable, message: "the server accepted the login and did not respond", retry: .yes)
            }
            var socket = pollfd(fd: PQsocket(connection), events: Int16(POLLIN), revents: 0)
            _ = poll(&socket, 1, CInt(left.seconds * 1_000 + left.attoseconds / 1_000_000_000_000_000) + 1)
            guard PQconsumeInput(connection) == 1 else { throw lost() }
        }
        return PQgetResult(connection)
    }

    /// Runs SQL with any number of statements, as one transaction unless the SQL says otherwise (`PQexec`).
    func run(script: String) throws(PostgresError) {
        guard let result = PQexec(connection, script) else { throw lost() }
        _ = try succeeded(ResultHandle(result), script)
    }

    /// Puts the session into COPY mode: `COPY … FROM STDIN`.
    func beginCopy(_ statement: PostgresStatement) throws(PostgresError) {
        let result = try exec(statement)
        guard !result.isCopyIn else { return }
        _ = try succeeded(result, statement.text)
        throw PostgresError(.protocolViolation, message: "not a COPY … FROM STDIN").about(statement.text)
    }

    func putCopyData(_ bytes: [UInt8]) throws(PostgresError) {
        let sent = bytes.withUnsafeBytes {
            PQputCopyData(connection, $0.baseAddress?.assumingMemoryBound(to: CChar.self), CInt($0.count))
        }
        guard sent == 1 else { throw lost() }
    }

    /// Ends COPY mode; with `abort` the server discards the rows.
    func endCopy(abort: Bool, _ statement: PostgresStatement) throws(PostgresError) -> PostgresResult {
        guard PQputCopyEnd(connection, abort ? "aborted by the client" : nil) == 1 else { throw lost() }
        guard let result = PQgetResult(connection) else { throw lost() }
        // Skips the NULL that ends the command.
        while let rest = PQgetResult(connection) { PQclear(rest) }
        return try succeeded(ResultHandle(result), statement.text)
    }

    private func exec(_ statement: PostgresStatement) throws(PostgresError) -> ResultHandle {
        let result = parameters.with(statement.binds) {
            PQexecParams(
                connection, statement.text, CInt(statement.binds.count), $0.types, $0.values, $0.lengths,
                $0.formats, 1)
        }
        guard let result else { throw lost() }
        return ResultHandle(result)
    }

    private func succeeded(_ result: ResultHandle, _ text: String) throws(PostgresError) -> PostgresResult {
        guard case .failure(let error) = result.outcome else { return PostgresResult(result) }
        throw error.about(text)
    }
}

/// Opens connections on threads: the only libpq call that supports `connect_timeout` and a list of hosts is blocking:
/// <https://www.postgresql.org/docs/15/libpq-connect.html#LIBPQ-PQCONNECTDB>.
enum Connector {
    /// Connects on a new thread, which calls `completion` and ends. Callers must limit how many run at once.
    static func connect(
        _ configuration: PostgresConfiguration,
        completion: @escaping @Sendable (Result<ConnectionHandle, PostgresError>) -> Void
    ) {
        let thread = Thread {
            completion(Result { () throws(PostgresError) in try connectBlocking(configuration) })
        }
        thread.name = "postgres-connect"
        thread.start()
    }

    /// How long the server may take for the settings. A pooler may accept a login and queue the first query for ever.
    private static let settingsTimeout = Duration.seconds(5)

    /// **Blocks** until the session is ready.
    static func connectBlocking(_ configuration: PostgresConfiguration) throws(PostgresError) -> ConnectionHandle {
        let handle = try ConnectionHandle.connect(configuration.connectionString)
        let calls = configuration.settings.map { "set_config(\($0), \($1), false)" as PostgresSQL }
        guard !calls.isEmpty else { return handle }
        let set: PostgresStatement = "SELECT \(sql: calls.joined(separator: ", "))"
        _ = try handle.query(set, within: settingsTimeout)
        return handle
    }
}
