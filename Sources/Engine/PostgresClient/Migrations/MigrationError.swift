/// Why the schema could not be updated. Nothing of the failed migration persists, unless it runs without a transaction.
public enum MigrationError: Error, Sendable, CustomStringConvertible {
    /// The file's text differs from the text that was applied.
    case changed(version: Int, name: String)
    /// A file with a lower number than the applied ones was never applied: it was added too late, or its record was
    /// removed.
    case outOfOrder(version: Int, name: String)
    /// Recorded in the database with a version that this binary should have, but does not have.
    case missing(version: Int, name: String)
    /// A statement of the migration failed; the error has its text and the server's message.
    case failed(version: Int, name: String, PostgresError)
    /// Another process has held the advisory lock for longer than `advisoryLockTimeout`.
    case locked

    public var description: String {
        switch self {
        case .changed(let version, let name):
            "migration \(version) \(name) was changed after it had been applied: restore it and add a new one"
        case .outOfOrder(let version, let name):
            "migration \(version) \(name) was not applied, but later ones were: give it a number above theirs"
        case .missing(let version, let name):
            "migration \(version) \(name) was applied to this database, but this binary does not have it"
        case .failed(let version, let name, let error):
            "migration \(version) \(name) failed: \(error)"
        case .locked:
            "another process has been migrating this database for too long"
        }
    }
}

extension MigrationError: CustomDebugStringConvertible {
    public var debugDescription: String {
        guard case .failed(_, _, let error) = self else { return description }
        return "\(description)\n\(error.debugDescription)"
    }
}
