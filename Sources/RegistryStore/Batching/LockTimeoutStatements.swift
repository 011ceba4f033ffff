import PostgresClient

/// How long the statements of a transaction wait for a lock.
enum LockTimeoutStatements {
    static let named = [
        NamedStatement(
            "probe", serving: "Writes of a batch that met a locked row: waits for a lock only briefly.", probe),
        NamedStatement("alone", serving: "Writes that met a locked row: waits for a lock, outside of a batch.", alone),
    ]

    /// No statement for a wait that the session's setting limits.
    static func of(_ patience: LockPatience) -> [PostgresStatement] {
        switch patience {
        case .batch: []
        case .probe: [probe]
        case .alone: [alone]
        }
    }

    private static let probe: PostgresStatement = "SET LOCAL lock_timeout = '5ms'"
    private static let alone: PostgresStatement = "SET LOCAL lock_timeout = '5s'"
}
