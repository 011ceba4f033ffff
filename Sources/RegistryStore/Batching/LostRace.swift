import PostgresClient

/// Somebody else changed what a transaction had read before it could lock it. It begins anew.
struct LostRace: Error {}

extension Error {
    /// Whether two transactions wanted the same and the other one had it: the transaction was rolled back and is tried
    /// again. A distributed engine reports a duplicate key as an internal error (XX000).
    var isLostRace: Bool {
        if self is LostRace { return true }
        guard let error = self as? PostgresError else { return false }
        switch error.kind {
        case .deadlock, .serializationFailure, .uniqueViolation: return true
        default: return error.sqlState == "XX000"
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
    /// None for what waits as long as the session says.
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
