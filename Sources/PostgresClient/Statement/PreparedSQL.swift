import Synchronization

/// SQL that runs often, as a `static let`: a connection finds its prepared statement by the number given here once,
/// without hashing the text at each execution.
public struct PreparedSQL: Sendable {
    private static let created = Atomic<Int>(0)

    public let text: String
    /// The caller and the effect of the statement, in one line, for readers of a list. It is never sent.
    public let purpose: String?
    let id: Int

    /// - Parameters:
    ///   - purpose: what calls the statement, and what it does.
    ///   - sql: one statement with the placeholders `$1`, `$2`, …; it takes its values when it is executed.
    public init(serving purpose: String? = nil, _ sql: PostgresSQL) {
        precondition(sql.binds.count == 0, "prepared SQL takes its values when it is executed")
        text = sql.text
        self.purpose = purpose
        id = Self.created.wrappingAdd(1, ordering: .relaxed).newValue
    }
}
