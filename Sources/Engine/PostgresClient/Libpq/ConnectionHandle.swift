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

    /// What the server said while the session began, such as that the system's collations have changed.
    private(set) var greetings: [String] = []
    private static let greetingsMax = 8

    private init(_ connection: OpaquePointer?) {
        self.connection = connection
    }

    /// Connects; **blocks** during DNS and for every host of the string, at most `connect_timeout` for each.
    ///
    /// `PQconnectdb` prints on standard error what the server says meanwhile: a connection takes a notice processor
    /// only once it exists. So one is begun (`PQconnectStart`), given its processor, and begun again.
    static func connect(_ string: ConnectionString) throws(PostgresError) -> ConnectionHandle {
        let handle = ConnectionHandle(PQconnectStart(string.text))
        handle.keepGreetings()
        PQreset(handle.connection)
        // Later notices may quote rows.
        _ = PQsetNoticeProcessor(handle.connection, { _, _ in }, nil)
        guard PQstatus(handle.connection) == CONNECTION_OK else { throw handle.connectError() }
        return handle
    }

    private func keepGreetings() {
        let keep: PQnoticeProcessor = { handle, text in
            guard let handle, let text else { return }
            Unmanaged<ConnectionHandle>.fromOpaque(handle).takeUnretainedValue().keep(String(cString: text))
        }
        _ = PQsetNoticeProcessor(connection, keep, Unmanaged.passUnretained(self).toOpaque())
    }

    private func keep(_ text: String) {
        guard greetings.count < Self.greetingsMax else { return }
        greetings.append(text.split(whereSeparator: \.isNewline).joined(separator: "; "))
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
