/// Why the schema was not brought up to date. Nothing of the migration named here stays behind, unless it runs without
/// a transaction.
public enum MigrationError: Error, Sendable, CustomStringConvertible {
    /// The file has another text than the one that was applied.
    case changed(version: Int, name: String)
    /// A file with a number below those applied was never applied: it came too late, or its record was removed.
    case outOfOrder(version: Int, name: String)
    /// Recorded, not newer than what this binary knows, and not in it.
    case missing(version: Int, name: String)
    case failed(version: Int, name: String, PostgresError)
    /// Another process holds the lock for too long.
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
            "another process is migrating this database, or hangs while it does"
        }
    }
}

extension MigrationError: CustomDebugStringConvertible {
    public var debugDescription: String {
        guard case .failed(_, _, let error) = self else { return description }
        return "\(description)\n\(error.debugDescription)"
    }
}
