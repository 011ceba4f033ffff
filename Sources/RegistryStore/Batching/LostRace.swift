import PostgresClient

/// Another transaction changed a row between this transaction's read and its lock. This transaction starts over.
struct LostRace: Error {}

extension Error {
    /// Whether another transaction won a race: this one was rolled back and is tried again. A distributed engine
    /// reports a duplicate key as an internal error (XX000), and a failed check divides by zero (22012,
    /// `RegistrationStatements.checkOrder`).
    var isLostRace: Bool {
        if self is LostRace { return true }
        guard let error = self as? PostgresError else { return false }
        switch error.kind {
        case .deadlock, .serializationFailure, .uniqueViolation: return true
        default: return ["XX000", "22012"].contains(error.sqlState)
        }
    }
}

extension PostgresClient {
    /// Runs a transaction, and again where it lost a race.
    nonisolated func withTransaction<Value>(
        attemptsMax: Int, _ body: (PostgresTransaction) async throws -> Value
    ) async throws -> Value {
        for _ in 1..<attemptsMax {
            do {
                return try await withTransaction(.readCommitted, body)
            } catch let error where error.isLostRace {
                continue
            }
        }
        return try await withTransaction(.readCommitted, body)
    }
}

extension PostgresSession {
    /// Runs a transaction, and again where it lost a race.
    func withTransaction<Value>(attemptsMax: Int, _ body: () throws -> Value) throws -> Value {
        for _ in 1..<attemptsMax {
            do {
                return try withTransaction(body)
            } catch let error where error.isLostRace {
                try checkCancellation()
            }
        }
        return try withTransaction(body)
    }
}

/// How long the statements of a transaction wait for a lock.
enum LockTimeout {
    static let named = [
        NamedStatement(
            "probe", serving: "Writes of a batch that met a locked row: waits for a lock only briefly.", probe),
        NamedStatement("alone", serving: "Writes that met a locked row: waits for a lock, outside of a batch.", alone),
    ]

    /// No statement for a wait that the session's setting limits.
    static func statements(_ patience: LockPatience) -> [PostgresStatement] {
        switch patience {
        case .batch: []
        case .probe: [probe]
        case .alone: [alone]
        }
    }

    private static let probe: PostgresStatement = "SET LOCAL lock_timeout = '20ms'"
    private static let alone: PostgresStatement = "SET LOCAL lock_timeout = '5s'"
}
