import CPostgres
import Glibc

/// The owner of one `PGconn`: <https://www.postgresql.org/docs/15/libpq-connect.html>.
///
/// Used by one thread at a time: the one that connects, then the loop that it is handed to. `deinit` closes.
final class ConnectionHandle: @unchecked Sendable {
    private(set) var connection: OpaquePointer?
    /// A duplicate of libpq's descriptor, for the loop to watch; -1 before it is asked for.
    private var duplicate: CInt = -1
    /// Parameters in the form that libpq takes them in, kept from statement to statement.
    let parameters = ParameterArrays()

    private init(_ connection: OpaquePointer?) {
        self.connection = connection
        // The default writes to the standard error, and notices may quote rows.
        _ = PQsetNoticeProcessor(connection, { _, _ in }, nil)
    }

    /// Connects and **blocks** meanwhile: DNS, every host of the string, `connect_timeout` for each (`PQconnectdb`).
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

    /// A descriptor to watch; nil where there is none left for it.
    ///
    /// libpq closes its own as soon as the connection breaks. One that is closed while it is watched cannot be taken
    /// out of the epoll set, and stays in there while a child process being started holds a copy: the loop would spin.
    func makeDescriptor() -> CInt? {
        duplicate = fcntl(PQsocket(connection), F_DUPFD_CLOEXEC, 0)
        return duplicate < 0 ? nil : duplicate
    }

    var isBad: Bool { PQstatus(connection) == CONNECTION_BAD }

    var transactionStatus: PGTransactionStatusType { PQtransactionStatus(connection) }

    var serverProcessID: CInt { PQbackendPID(connection) }

    /// What libpq says about its last failure.
    var message: String {
        guard let text = PQerrorMessage(connection) else { return "" }
        return String(String(cString: text).prefix { !$0.isNewline })
    }

    func lost() -> PostgresError {
        PostgresError(.connectionLost, message: message)
    }

    /// libpq keeps no SQLSTATE of a failed attempt, so the kind comes from the server's words, which a server with
    /// another language hides: then it is `unavailable`, which is true as well.
    private func connectError() -> PostgresError {
        let text = PQerrorMessage(connection).map { String(cString: $0) } ?? ""
        let line = text.split(whereSeparator: \.isNewline).joined(separator: "; ")
        return PostgresError(Self.kind(ofConnectError: text), message: line, retry: .yes)
    }

    private static func kind(ofConnectError text: String) -> PostgresError.Kind {
        if text.contains("authentication failed") { return .authenticationFailed }
        if text.contains("too many c") || text.contains("connection slots") { return .tooManyConnections }
        if text.contains("starting up") || text.contains("shutting down") { return .startingUp }
        return .unavailable
    }
}
