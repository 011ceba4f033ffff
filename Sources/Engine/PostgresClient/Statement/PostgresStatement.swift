import Synchronization

/// One SQL statement with its values, ready to send.
///
///     let rows = try await client.execute("SELECT name FROM app WHERE id = \(id)")
///
/// Values are bound, never inserted into the text. Use `PreparedSQL` for a statement that runs often, and
/// `unprepared()` for one that is rarely repeated.
public struct PostgresStatement: Sendable, ExpressibleByStringInterpolation {
    /// How a connection recognizes SQL that it has prepared.
    enum Preparation: Hashable, Sendable {
        case none
        case byID(Int)
        case byText(String)
    }

    /// The SQL with placeholders, never with values.
    public let text: String
    let binds: PostgresBinds
    private(set) var preparation: Preparation

    public init(stringLiteral literal: String) {
        self.init(PostgresSQL(stringLiteral: literal))
    }

    public init(stringInterpolation interpolation: PostgresSQL.StringInterpolation) {
        self.init(interpolation.sql)
    }

    /// Each connection prepares it at the first execution and finds it again by its text; `unprepared()` prevents that.
    public init(_ sql: PostgresSQL) {
        text = sql.text
        binds = sql.binds
        preparation = .byText(text)
    }

    /// - Parameter values: those of `$1`, `$2`, … in order.
    @inlinable
    public init<each Value: PostgresBindable>(_ prepared: PreparedSQL, _ values: repeat each Value) {
        var binds = PostgresBinds()
        repeat binds.bind(each values)
        self.init(prepared, binds: binds)
    }

    /// For statements with many values: `bind` is called once and binds `$1`, `$2`, … in order.
    @inlinable
    public init(_ prepared: PreparedSQL, bind: (inout PostgresBinds) -> Void) {
        var binds = PostgresBinds()
        bind(&binds)
        self.init(prepared, binds: binds)
    }

    @usableFromInline
    init(_ prepared: PreparedSQL, binds: PostgresBinds) {
        text = prepared.text
        self.binds = binds
        preparation = .byID(prepared.id)
    }

    /// Parsed at each execution; the connection does not cache it.
    init(text: String, binds: PostgresBinds) {
        self.text = text
        self.binds = binds
        preparation = .none
    }

    /// The same statement, parsed at each execution and not cached: for DDL, and for SQL that is rarely repeated.
    public func unprepared() -> PostgresStatement {
        var statement = self
        statement.preparation = .none
        return statement
    }
}

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
