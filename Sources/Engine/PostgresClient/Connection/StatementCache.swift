/// The prepared statements of a connection, and their names. A value: it decides what to send, and is informed of the
/// results.
///
/// Until the server has confirmed a preparation, the statement is sent unprepared: else units that follow would fail
/// with the preparation.
struct StatementCache {
    /// More than the product's number of statements; each costs the server process some kilobytes.
    static let statementsMax = 256

    struct Entry {
        let name: String
        let types: [PostgresType]
        var isConfirmed = false
        var lastUse: UInt64
    }

    enum Decision: Equatable {
        case unprepared
        case execute(name: String)
        /// Deallocate the evicted name, prepare under the new name, then execute.
        case prepare(name: String, evicted: String?)
    }

    private let statementsMax: Int
    private var entries: [PostgresStatement.Preparation: Entry] = [:]
    private var uses: UInt64 = 0
    private var names: UInt64 = 0

    init(statementsMax: Int = Self.statementsMax) {
        self.statementsMax = statementsMax
    }

    /// Decides how to send a statement now.
    mutating func decide(_ statement: PostgresStatement) -> Decision {
        guard statement.preparation != .none else { return .unprepared }
        uses += 1
        guard let entry = entries[statement.preparation] else { return insert(statement, evicted: evict()) }
        guard entry.isConfirmed else { return .unprepared }
        guard statement.binds.hasTypes(entry.types) else { return insert(statement, evicted: entry.name) }
        entries[statement.preparation]?.lastUse = uses
        return .execute(name: entry.name)
    }

    mutating func confirm(_ key: PostgresStatement.Preparation) {
        entries[key]?.isConfirmed = true
    }

    /// Removes a statement whose preparation failed or is no longer valid; its next execution prepares it again.
    mutating func remove(_ key: PostgresStatement.Preparation) {
        entries[key] = nil
    }

    private mutating func insert(_ statement: PostgresStatement, evicted: String?) -> Decision {
        names += 1
        let name = Self.name(names, of: statement)
        entries[statement.preparation] = Entry(
            name: name, types: statement.binds.parameters.map(\.type), lastUse: uses)
        return .prepare(name: name, evicted: evicted)
    }

    /// The name tells the SQL and the types of its values. A pooler that lends one session to several clients, which is
    /// not supported, then makes an execution fail; it can't run another client's statement in its place.
    static func name(_ number: UInt64, of statement: PostgresStatement) -> String {
        var hasher = Hasher()
        hasher.combine(statement.text)
        for parameter in statement.binds.parameters { hasher.combine(parameter.type) }
        return "s\(number)_\(String(UInt(bitPattern: hasher.finalize()), radix: 36))"
    }

    /// Evicts the least recently used statement. Its name is never used again.
    private mutating func evict() -> String? {
        guard entries.count >= statementsMax else { return nil }
        let oldest = entries.lazy.filter { $0.value.isConfirmed }.min { $0.value.lastUse < $1.value.lastUse }
        guard let oldest else { return nil }
        entries[oldest.key] = nil
        return oldest.value.name
    }
}
