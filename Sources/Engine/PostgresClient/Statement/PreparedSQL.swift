import Synchronization

/// SQL that runs often, as a `static let`: it gets a number once, by which a connection finds its prepared statement
/// without hashing the text at each execution.
public struct PreparedSQL: Sendable {
    private static let created = Atomic<Int>(0)

    /// Sent to plain PostgreSQL, with the placeholders `$1`, `$2`, ….
    public let text: String
    /// Replaces `text` on a distributed engine; nil if one text serves both.
    public let distributedText: String?
    /// Replaces both texts on a distributed engine if the arrays have at most `InsertedValues.rowsMax` elements.
    public let values: InsertedValues?
    let id: Int

    /// - Parameters:
    ///   - sql: one statement with the placeholders `$1`, `$2`, …; its values are passed at each execution.
    ///   - distributed: the same for a distributed engine, if that needs another text. It takes the same values.
    ///   - values: the same for a distributed engine and short arrays.
    public init(_ sql: PostgresSQL, distributed: PostgresSQL? = nil, values: InsertedValues? = nil) {
        precondition(
            sql.binds.count == 0 && distributed?.binds.count ?? 0 == 0, "prepared SQL takes its values at execution")
        text = sql.text
        distributedText = distributed?.text
        self.values = values
        id = Self.makeIDs(count: 1)
    }

    /// - Returns: the first of some successive numbers.
    static func makeIDs(count: Int) -> Int {
        created.wrappingAdd(count, ordering: .relaxed).oldValue
    }
}
