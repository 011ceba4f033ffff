import PostgresClient

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
