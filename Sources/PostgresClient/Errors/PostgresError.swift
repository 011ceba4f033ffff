/// Why PostgreSQL, or the way to it, did not do what it was asked to.
///
/// `description` names the kind, the SQLSTATE and the constraint: safe for logs and for anybody. `debugDescription`
/// adds the SQL's text and the server's first line. Neither shows bound values, nor the server's DETAIL, which quotes
/// rows.
public struct PostgresError: Error, Sendable {
    public let kind: Kind
    /// The five characters of the server's verdict; nil where the server did not say anything.
    public internal(set) var sqlState: String?
    /// Whether the same unit may be sent again without knowing more.
    public internal(set) var retry: RetrySafety
    /// The text of the statement that failed, without its values.
    public internal(set) var statement: String?
    /// The first line of what the server or libpq said.
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
        /// It would fail again: the statement or its values are at fault.
        case no
        /// The unit was sent and its end is not known: a read may be repeated, a write only if it is idempotent.
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
        /// `statement_timeout`, or somebody's cancel request.
        case queryCancelled
        /// An earlier statement of the same transaction failed, so this one, or the commit, was not done.
        case transactionAborted
        /// The server is a standby, or the transaction read-only. The connection is not used again.
        case readOnly
        /// What was prepared no longer fits the tables; the next execution prepares it anew.
        case stalePlan

        case tooManyConnections
        case diskFull
        case outOfMemory
        case adminShutdown
        /// The server does not accept connections yet, or not any more.
        case startingUp

        /// The connection broke while the unit was under way.
        case connectionLost
        /// There is no connection, and none came in the short time that one waits for it.
        case unavailable
        /// The deadline of the unit, or of the wait for a connection, has passed.
        case timeout
        /// Too many units or tasks wait already.
        case queueFull
        /// The task was cancelled before anything was sent.
        case cancelled
        /// The client is shut down.
        case closed
        case invalidConfiguration
        case protocolViolation
        case other
    }
}

extension PostgresError.Kind {
    /// The safety of a retry as far as the kind alone tells it.
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
    /// The same error of a statement in a transaction that was not asked to commit yet: nothing stays behind.
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
