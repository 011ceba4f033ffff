import Synchronization

/// SQL that runs often, as a `static let`: a connection finds its prepared statement by the number given here once,
/// without hashing the text at each execution.
public struct PreparedSQL: Sendable {
    private static let made = Atomic<Int>(0)

    public let text: String
    let id: Int

    /// - Parameter sql: one statement with the placeholders `$1`, `$2`, …; it takes its values when it is executed.
    public init(_ sql: PostgresSQL) {
        precondition(sql.binds.count == 0, "prepared SQL takes its values when it is executed")
        text = sql.text
        id = Self.made.wrappingAdd(1, ordering: .relaxed).newValue
    }
}
