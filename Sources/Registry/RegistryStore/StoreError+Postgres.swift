import PostgresClient
import PushRegistry

extension StoreError {
    /// The error for the caller; the one place that decides it.
    package init(_ error: any Error) {
        switch error {
        case let error as StoreError: self = error
        // Tried again many times already.
        case _ where error.isLostRace: self = .unavailable
        case let error as PostgresError: self.init(error.kind, error)
        default: self = .failed(String(describing: error))
        }
    }

    private init(_ kind: PostgresError.Kind, _ error: PostgresError) {
        switch kind {
        case .queueFull: self = .overloaded
        case .deadlock, .serializationFailure, .lockTimeout, .queryCancelled, .readOnly, .stalePlan,
            .tooManyConnections,
            .diskFull, .outOfMemory, .adminShutdown, .startingUp, .connectionLost, .unavailable, .timeout, .cancelled,
            .closed:
            self = .unavailable
        case .uniqueViolation, .foreignKeyViolation, .checkViolation, .notNullViolation, .invalidData, .undefinedTable,
            .undefinedColumn, .syntax, .insufficientPrivilege, .authenticationFailed, .transactionAborted,
            .invalidConfiguration, .protocolViolation, .unexpectedResult, .other:
            self = .failed(error.description)
        }
    }
}

extension PostgresError {
    /// Whether a row refers to an app that was deleted meanwhile.
    fileprivate var isOfDeletedApp: Bool {
        if case .foreignKeyViolation(let constraint) = kind { constraint.hasSuffix("_app_id_fkey") } else { false }
    }
}

/// Runs `body`. Every error is thrown as a `StoreError`, but a refusal and `AppIsBeingDeleted` as themselves.
package func storing<Value, Refusal: Error>(
    refusing: Refusal.Type = StoreError.self, _ body: () async throws -> Value
) async throws -> Value {
    do {
        return try await storingDecision(body)
    } catch let error where error is Refusal || error is AppIsBeingDeleted {
        throw error
    } catch {
        throw StoreError(error)
    }
}

/// Runs `body`, which lets its caller decide. An error of the database is thrown as a `StoreError` or
/// `AppIsBeingDeleted`, others as themselves.
func storingDecision<Value>(_ body: () async throws -> Value) async throws -> Value {
    do {
        return try await body()
    } catch let error as PostgresError {
        if error.isOfDeletedApp { throw AppIsBeingDeleted() }
        throw StoreError(error)
    } catch let error as PostgresDecodeError {
        throw StoreError(error)
    }
}

extension Error {
    /// Whether one item of a batch may be the cause, so that the others may succeed without it.
    var mayBeOneItem: Bool {
        if self is LostRace { return true }
        return switch (self as? PostgresError)?.kind {
        case .uniqueViolation, .checkViolation, .notNullViolation, .invalidData, .deadlock, .serializationFailure,
            .lockTimeout, .other:
            true
        default: false
        }
    }
}

/// Another transaction changed a row between this transaction's read and its lock. This transaction starts over.
struct LostRace: Error {}

extension Error {
    /// Whether another transaction won a race: this one was rolled back and is tried again. A failed check divides by
    /// zero (22012, `RegistrationStatements.checkOrder`). An internal error (XX000) other than `isOfCopyToNode` is no
    /// race: it may be a damaged page.
    package var isLostRace: Bool {
        if self is LostRace { return true }
        guard let error = self as? PostgresError else { return false }
        switch error.kind {
        case .deadlock, .serializationFailure, .uniqueViolation: return true
        default: return error.isOfCopyToNode || error.sqlState == "22012"
        }
    }

    package var isLockTimeout: Bool { (self as? PostgresError)?.kind == .lockTimeout }
}

extension PostgresError {
    /// Whether Citus copied rows to a node and the node refused one of them, probably a duplicate key. Citus then
    /// reports an internal error with the node's message, in the node's language.
    var isOfCopyToNode: Bool { sqlState == "XX000" && serverFunction == "ReportCopyError" }
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

    /// Executes statements as one transaction, in one trip.
    nonisolated func execute(
        _ statements: [PostgresStatement], _ patience: LockPatience
    ) async throws -> [PostgresResult] {
        let first = LockTimeoutStatements.of(patience)
        let results = try await withTransaction { try await $0.commit(after: first + statements) }
        return Array(results.dropFirst(first.count))
    }
}

extension PostgresTransaction {
    /// Sends a unit whose statements, and those of later units, wait for locks.
    func execute(_ unit: [PostgresStatement], _ patience: LockPatience) async throws -> [PostgresResult] {
        let first = LockTimeoutStatements.of(patience)
        return Array(try await execute(first + unit).dropFirst(first.count))
    }
}

/// How long the statements of a transaction wait for a lock.
enum LockTimeoutStatements {
    /// No statement for a wait that the session's setting limits.
    static func of(_ patience: LockPatience) -> [PostgresStatement] {
        switch patience {
        case .batch: []
        case .probe: [probe]
        case .alone: [alone]
        }
    }

    /// Writes of a batch that met a locked row: waits for a lock only briefly.
    private static let probe: PostgresStatement = "SET LOCAL lock_timeout = '5ms'"
    /// Writes that met a locked row: waits for a lock, outside of a batch.
    private static let alone: PostgresStatement = "SET LOCAL lock_timeout = '5s'"
}
