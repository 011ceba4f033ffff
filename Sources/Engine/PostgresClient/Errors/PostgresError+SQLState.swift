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
