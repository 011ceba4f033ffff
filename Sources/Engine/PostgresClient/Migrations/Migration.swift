/// One step of the schema, the contents of one file.
public struct Migration: Hashable, Sendable {
    /// The first line of a migration that cannot run in a transaction, such as `CREATE INDEX CONCURRENTLY`. Its
    /// statements run one by one, so they must be repeatable.
    public static let noTransactionMark = "-- push-registry: no-transaction"
    /// A line that separates the statements of such a migration. The migrator does not search SQL for semicolons.
    public static let nextStatementMark = "-- push-registry: next-statement"

    /// Unique, at most `Int32.max`. Migrations are applied in ascending order.
    public let version: Int
    /// For example `create_installation`.
    public let name: String
    /// Recorded by its SHA-256: once it is applied, it must not change.
    public let sql: String

    /// - Parameter sql: any number of statements, run as one transaction unless the first line is `noTransactionMark`.
    public init(version: Int, name: String, sql: String) {
        self.version = version
        self.name = name
        self.sql = sql
    }

    var isTransactional: Bool {
        lines.first?.trimmingSpaces() != Self.noTransactionMark[...]
    }

    /// The scripts to send to the server, one at a time.
    var scripts: [String] {
        guard !isTransactional else { return [sql] }
        return lines.split { $0.trimmingSpaces() == Self.nextStatementMark[...] }.map { $0.joined(separator: "\n") }
    }

    private var lines: [Substring] {
        sql.split(separator: "\n", omittingEmptySubsequences: false)
    }
}

extension Substring {
    fileprivate func trimmingSpaces() -> Substring {
        var text = self
        while text.last?.isWhitespace == true { text.removeLast() }
        return text
    }
}
