/// An error of PostgreSQL, or of the connection to it.
///
/// `description` contains the kind, the SQLSTATE and the constraint, and is safe for logs and clients.
/// `debugDescription` adds the SQL text and the server's first line. Neither contains bound values, or the server's
/// DETAIL, which quotes rows.
public struct PostgresError: Error, Sendable {
    public let kind: Kind
    /// The five characters of the server's SQLSTATE; nil if the server sent none.
    public internal(set) var sqlState: String?
    /// Whether the same unit may be sent again, as far as the error shows.
    public internal(set) var retry: RetrySafety
    /// Whether it is the refusal of a task that waited for a connection: its unit was not sent.
    public internal(set) var wasWaiting = false
    /// Whether Citus copied rows to a node and the node refused one of them, probably a duplicate key. Citus then
    /// reports an internal error (XX000) with the node's message, in the node's language.
    public internal(set) var isOfCopyToNode = false
    /// The text of the statement that failed, without its values.
    public internal(set) var statement: String?
    /// The first line of the message of the server or of libpq.
    var message: String?

    init(_ kind: Kind, message: String? = nil, retry: RetrySafety? = nil) {
        self.kind = kind
        self.message = message
        self.retry = retry ?? kind.retry
    }
}

extension PostgresError {
    public enum RetrySafety: Hashable, Sendable {
        /// Nothing of the unit was done.
        case yes
        /// It would fail again: the statement or its values cause the error.
        case no
        /// The unit was sent and its outcome is unknown: a read may be repeated, a write only if it is idempotent.
        case unknownOutcome
    }

    public enum Kind: Hashable, Sendable {
        case uniqueViolation(constraint: String)
        case foreignKeyViolation(constraint: String)
        case checkViolation(constraint: String)
        case notNullViolation(column: String)
        case invalidData
        case undefinedTable
        case undefinedColumn
        case syntax
        case insufficientPrivilege
        case authenticationFailed

        case deadlock
        case serializationFailure
        case lockTimeout
        /// `statement_timeout`, or a cancel request.
        case queryCancelled
        /// An earlier statement of the same transaction failed, so this one, or the commit, was not executed.
        case transactionAborted
        /// The server is a standby, or the transaction is read-only. The connection is closed.
        case readOnly
        /// A prepared statement no longer matches the tables; the next execution prepares it again.
        case stalePlan

        case tooManyConnections
        case diskFull
        case outOfMemory
        case adminShutdown
        /// The server is starting or stopping and does not accept connections.
        case startingUp

        /// The connection broke while the unit was in flight.
        case connectionLost
        /// There is no connection, and none was opened within the short wait for an unreachable server.
        case unavailable
        /// The deadline of the unit, or of the wait for a connection, has passed.
        case timeout
        /// Too many units are in flight, or too many tasks wait.
        case queueFull
        /// The task was cancelled before the unit was sent.
        case cancelled
        /// The client is shut down.
        case closed
        case invalidConfiguration
        case protocolViolation
        case other
    }
}

extension PostgresError.Kind {
    /// The safety of a retry if only the kind is known.
    var retry: PostgresError.RetrySafety {
        switch self {
        case .deadlock, .serializationFailure, .lockTimeout, .queryCancelled, .readOnly, .stalePlan,
            .tooManyConnections, .diskFull, .outOfMemory, .startingUp, .unavailable, .queueFull, .cancelled, .closed:
            .yes
        case .adminShutdown, .connectionLost, .timeout, .protocolViolation:
            .unknownOutcome
        case .uniqueViolation, .foreignKeyViolation, .checkViolation, .notNullViolation, .invalidData,
            .undefinedTable, .undefinedColumn, .syntax, .insufficientPrivilege, .authenticationFailed,
            .transactionAborted, .invalidConfiguration, .other:
            .no
        }
    }

    /// A short name for metrics and logs, without names of constraints.
    public var label: String {
        switch self {
        case .uniqueViolation: "unique_violation"
        case .foreignKeyViolation: "foreign_key_violation"
        case .checkViolation: "check_violation"
        case .notNullViolation: "not_null_violation"
        default: String(describing: self)
        }
    }
}

extension PostgresError: CustomStringConvertible, CustomDebugStringConvertible {
    public var description: String {
        let state = sqlState.map { " (SQLSTATE \($0))" } ?? ""
        return "PostgreSQL: \(kind)\(state)"
    }

    public var debugDescription: String {
        var text = description
        if let message { text += ": \(message)" }
        if let statement { text += "\n\(statement)" }
        return text
    }
}

extension PostgresError {
    /// The same error for a transaction that has not tried to commit: nothing of it persists, so a retry is safe.
    func beforeCommit() -> PostgresError {
        var error = self
        if error.retry == .unknownOutcome { error.retry = .yes }
        return error
    }

    func about(_ statement: String) -> PostgresError {
        var error = self
        error.statement = statement
        return error
    }
}
