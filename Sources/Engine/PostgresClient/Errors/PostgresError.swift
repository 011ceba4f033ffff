/// An error of PostgreSQL, or of the connection to it.
///
/// `description` contains the kind, the SQLSTATE and the constraint, and is safe for logs and clients.
/// `debugDescription` adds the SQL text and the server's first line. Neither contains bound values, or the server's
/// DETAIL, which quotes rows.
public struct PostgresError: Error, Sendable {
    /// The classification for callers; it includes errors without SQLSTATE.
    public let kind: Kind
    /// The five characters of the server's SQLSTATE; nil if the server sent none.
    public internal(set) var sqlState: String?
    /// Whether the same unit may be sent again, as far as the error shows.
    public internal(set) var retry: RetrySafety
    /// Whether the pool refused to lend a connection, at once or after a wait: the unit was not sent.
    public internal(set) var wasRefusedByPool = false
    /// Whether the connection was closed because the deadline of another unit on it had passed.
    public internal(set) var isOfNeighbour = false
    /// The server's function that reported the error. The server translates messages, but not this name.
    public internal(set) var serverFunction: String?
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
    /// Whether a unit that failed may be sent again.
    public enum RetrySafety: Hashable, Sendable {
        /// Nothing of the unit was done.
        case yes
        /// It would fail again: the statement or its values cause the error.
        case no
        /// The unit was sent and its outcome is unknown: a read may be repeated, a write only if it is idempotent.
        case unknownOutcome
    }

    /// Derived from the SQLSTATE (<https://www.postgresql.org/docs/15/errcodes-appendix.html>), or from the state of
    /// the connection. libpq reports no SQLSTATE for a failed attempt to connect: the kind is then derived from its
    /// message.
    public enum Kind: Hashable, Sendable {
        /// SQLSTATE 23505. The name is that of the constraint or unique index.
        case uniqueViolation(constraint: String)
        /// SQLSTATE 23503, or 23001 for ON DELETE RESTRICT.
        case foreignKeyViolation(constraint: String)
        /// SQLSTATE 23514.
        case checkViolation(constraint: String)
        /// SQLSTATE 23502.
        case notNullViolation(column: String)
        /// Class 22: a value cannot be converted, or is out of range.
        case invalidData
        /// SQLSTATE 42P01.
        case undefinedTable
        /// SQLSTATE 42703.
        case undefinedColumn
        /// The rest of class 42: the SQL does not fit the schema, or is malformed.
        case syntax
        /// 42501: the role lacks a right.
        case insufficientPrivilege
        /// Class 28, or libpq reports it when it connects.
        case authenticationFailed

        /// 40P01: the server chose this transaction to resolve the deadlock.
        case deadlock
        /// 40001: the transaction conflicts with a concurrent one.
        case serializationFailure
        /// 55P03: `lock_timeout` has passed, or NOWAIT found a lock.
        case lockTimeout
        /// 57014: `statement_timeout` has passed, or a cancel request arrived.
        case queryCancelled
        /// 25P02: an earlier statement of the same transaction failed, so this one, or the commit, was not executed.
        case transactionAborted
        /// 25006: the server is a standby, or the transaction is read-only. The connection is closed.
        case readOnly
        /// 0A000 or 26000: a prepared statement no longer fits the tables, or is gone; the next execution prepares it
        /// again.
        case stalePlan

        /// 53300: `max_connections` of the server or a limit of the role or database.
        case tooManyConnections
        /// 53100: on the server.
        case diskFull
        /// 53200: on the server.
        case outOfMemory
        /// The server ended the session: a shutdown or crash (57P01, 57P02), or an idle timeout (57P05, 25P03).
        case adminShutdown
        /// 57P03: the server is starting or stopping and does not accept connections.
        case startingUp

        /// The connection broke while the unit was in flight (class 08, or no SQLSTATE), or before the unit was sent.
        case connectionLost
        /// There is no connection, and none was opened within the short wait for an unreachable server; or an attempt
        /// to connect failed.
        case unavailable
        /// The deadline of the unit, or of the wait for a connection, has passed.
        case timeout
        /// `PostgresConnection.unitsMax` are in flight, or `PostgresPoolLimits.waitersMax` tasks wait.
        case queueFull
        /// The task was cancelled before the unit was sent.
        case cancelled
        /// The pool is shut down, the connection was closed, or the transaction has ended.
        case closed
        /// libpq cannot parse the connection string.
        case invalidConfiguration
        /// A response that does not fit the request, or a request that a COPY in progress does not allow.
        case protocolViolation
        /// A result has fewer rows than the code needs: a row of the schema is missing, or a pooler mixes up sessions.
        case unexpectedResult
        /// Any other SQLSTATE; see `sqlState`.
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
            .transactionAborted, .invalidConfiguration, .unexpectedResult, .other:
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

extension PostgresError {
    /// The fields of the server's error message: <https://www.postgresql.org/docs/15/protocol-error-fields.html>.
    struct ServerFields {
        var sqlState = ""
        var message = ""
        var constraint = ""
        var column = ""
        var function = ""
    }

    init(_ fields: ServerFields) {
        self.init(Kind(fields), message: Self.withoutValues(fields))
        sqlState = fields.sqlState.isEmpty ? nil : fields.sqlState
        serverFunction = fields.function.isEmpty ? nil : fields.function
    }

    /// The server's first line. A message about invalid data quotes the value, so it is cut before the quotation.
    private static func withoutValues(_ fields: ServerFields) -> String {
        let line = fields.message.prefix { !$0.isNewline }
        guard fields.sqlState.hasPrefix("22") else { return String(line) }
        return String(line.prefix { $0 != "\"" })
    }
}

extension PostgresError.Kind {
    /// The only place that interprets SQLSTATEs: <https://www.postgresql.org/docs/15/errcodes-appendix.html>.
    init(_ fields: PostgresError.ServerFields) {
        switch fields.sqlState {
        // libpq's own error: it lost the server, which sent no error.
        case "": self = .connectionLost
        case "23505": self = .uniqueViolation(constraint: fields.constraint)
        case "23503", "23001": self = .foreignKeyViolation(constraint: fields.constraint)
        case "23514": self = .checkViolation(constraint: fields.constraint)
        case "23502": self = .notNullViolation(column: fields.column)
        case "40P01": self = .deadlock
        case "40001": self = .serializationFailure
        case "55P03": self = .lockTimeout
        case "57014": self = .queryCancelled
        case "25P02": self = .transactionAborted
        case "25006": self = .readOnly
        // "cached plan must not change result type", in any language.
        case "0A000" where fields.function == "RevalidateCachedQuery", "26000": self = .stalePlan
        case "57P01", "57P02", "57P05", "25P03": self = .adminShutdown
        case "57P03": self = .startingUp
        case "53300": self = .tooManyConnections
        case "53100": self = .diskFull
        case "53200": self = .outOfMemory
        case "42501": self = .insufficientPrivilege
        case "42P01": self = .undefinedTable
        case "42703": self = .undefinedColumn
        case let state where state.hasPrefix("42"): self = .syntax
        case let state where state.hasPrefix("22"): self = .invalidData
        case let state where state.hasPrefix("28"): self = .authenticationFailed
        case let state where state.hasPrefix("08"): self = .connectionLost
        default: self = .other
        }
    }
}
