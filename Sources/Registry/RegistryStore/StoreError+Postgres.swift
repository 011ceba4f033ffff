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
func storing<Value, Refusal: Error>(
    refusing: Refusal.Type = StoreError.self, _ body: () async throws -> Value
) async throws -> Value {
    do {
        return try await body()
    } catch let refusal as Refusal {
        throw refusal
    } catch let deleted as AppIsBeingDeleted {
        throw deleted
    } catch let error as PostgresError where error.isOfDeletedApp {
        throw AppIsBeingDeleted()
    } catch {
        throw StoreError(error)
    }
}

/// Runs `body`, which lets its caller decide. An error of the database is thrown as a `StoreError`, others as
/// themselves.
func storingDecision<Value>(_ body: () async throws -> Value) async throws -> Value {
    do {
        return try await body()
    } catch let error as PostgresError {
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
