import Synchronization

/// SQL that runs often, as a `static let`: it gets a number once, by which a connection finds its prepared statement
/// without hashing the text at each execution.
public struct PreparedSQL: Sendable {
    private static let created = Atomic<Int>(0)

    /// With the placeholders `$1`, `$2`, ….
    public let text: String
    let id: Int

    /// - Parameter sql: one statement with the placeholders `$1`, `$2`, …; its values are passed at each execution.
    public init(_ sql: PostgresSQL) {
        precondition(sql.binds.count == 0, "prepared SQL takes its values at execution")
        text = sql.text
        id = Self.created.wrappingAdd(1, ordering: .relaxed).oldValue
    }

    /// The statement with these values of `$1`, `$2`, … in order.
    @inlinable
    public func callAsFunction<each Value: PostgresBindable>(_ values: repeat each Value) -> PostgresStatement {
        PostgresStatement(self, repeat each values)
    }
}
