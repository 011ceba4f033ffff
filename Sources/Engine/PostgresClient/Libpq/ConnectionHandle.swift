import CPostgres
import Glibc

/// The owner of one `PGconn`: <https://www.postgresql.org/docs/15/libpq-connect.html>.
///
/// Used by one thread at a time: first by the one that connects, then by the loop. `deinit` closes it.
final class ConnectionHandle: @unchecked Sendable {
    private(set) var connection: OpaquePointer?
    /// A duplicate of libpq's descriptor, for the loop to watch; -1 until `makeDescriptor`.
    private var duplicate: CInt = -1
    /// Parameters in libpq's form; the memory is reused for each statement.
    let parameters = ParameterArrays()

    private init(_ connection: OpaquePointer?) {
        self.connection = connection
        // libpq's default writes to standard error, and notices may quote rows.
        _ = PQsetNoticeProcessor(connection, { _, _ in }, nil)
    }

    /// Connects; **blocks** during DNS and for every host of the string, at most `connect_timeout` for each
    /// (`PQconnectdb`).
    static func connect(_ string: ConnectionString) throws(PostgresError) -> ConnectionHandle {
        let handle = ConnectionHandle(PQconnectdb(string.text))
        guard PQstatus(handle.connection) == CONNECTION_OK else { throw handle.connectError() }
        return handle
    }

    deinit {
        close()
    }

    /// Ends the session and closes the descriptors (`PQfinish`). They must not be watched any more.
    func close() {
        PQfinish(connection)
        connection = nil
        if duplicate >= 0 { _ = Glibc.close(duplicate) }
        duplicate = -1
    }

    /// Returns a descriptor to watch; nil if no descriptor is available.
    ///
    /// libpq closes its descriptor when the connection breaks. epoll keeps reporting it while a forked child still has
    /// a copy, and the loop would spin. So the loop watches a duplicate, which this type closes.
    func makeDescriptor() -> CInt? {
        duplicate = fcntl(PQsocket(connection), F_DUPFD_CLOEXEC, 0)
        return duplicate < 0 ? nil : duplicate
    }

    var isBad: Bool { PQstatus(connection) == CONNECTION_BAD }

    var transactionStatus: PGTransactionStatusType { PQtransactionStatus(connection) }

    var serverProcessID: CInt { PQbackendPID(connection) }

    /// libpq's message about the last failure.
    var message: String {
        guard let text = PQerrorMessage(connection) else { return "" }
        return String(String(cString: text).prefix { !$0.isNewline })
    }

    func lost() -> PostgresError {
        PostgresError(.connectionLost, message: message)
    }

    /// libpq provides no SQLSTATE for a failed attempt, so the kind is derived from the server's message. If that is in
    /// another language the kind is `unavailable`, which is correct too.
    private func connectError() -> PostgresError {
        let text = PQerrorMessage(connection).map { String(cString: $0) } ?? ""
        let lines = text.split(whereSeparator: \.isNewline).map { $0.drop(while: \.isWhitespace) }
        return PostgresError(
            Self.kind(ofConnectError: text), message: lines.joined(separator: "; "), retry: .yes)
    }

    private static func kind(ofConnectError text: String) -> PostgresError.Kind {
        if text.contains("authentication failed") { return .authenticationFailed }
        if text.contains("too many c") || text.contains("connection slots") { return .tooManyConnections }
        if text.contains("starting up") || text.contains("shutting down") { return .startingUp }
        return .unavailable
    }
}
