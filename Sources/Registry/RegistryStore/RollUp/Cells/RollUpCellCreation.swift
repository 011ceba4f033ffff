import PostgresClient
import PushRegistry

/// Finds the numbers of an app's cells, and creates those that are missing. A value that returns the statements to
/// send, as `RollUpFold` does: at most one unit for texts and one for cells. On Citus there is one before them, and one
/// after them if some of the cells existed.
///
/// Each unit first removes the marks of unused rows (`UnusedCells`). A row that is deleted meanwhile is created again.
package struct RollUpCellCreation {
    private enum Phase {
        case drawing
        case naming
        case creating
        case finding
        case finished
    }

    let keys: [RollUpCells.Key]
    /// The texts of the cells, after the unit for texts.
    private(set) var texts: RollUpTexts
    /// The number of each key's cell, after the last unit.
    private(set) var numbers: [Int64] = []
    /// How many cells were added.
    private(set) var added = 0
    /// Whether the app may have more cells. Otherwise, overflow cells count new combinations.
    private let mayAdd: Bool
    private let app: Int32
    private let versions: [String]
    private var phase: Phase
    /// The texts without a number.
    private let newTexts: [String]
    /// The numbers of new texts and cells, on Citus; nil: PostgreSQL draws them.
    private var drawn: (texts: [Int64], cells: [Int64])?

    /// - Parameters:
    ///   - keys: at least one, all of one app.
    ///   - mayAdd: whether the app may have more cells.
    ///   - texts: those that are known.
    ///   - drawsNumbers: whether a statement of its own draws the numbers: on Citus, so that an INSERT is one task.
    init(_ keys: [RollUpCells.Key], mayAdd: Bool, texts: RollUpTexts = RollUpTexts(), drawsNumbers: Bool = false) {
        self.keys = keys
        self.texts = texts
        self.mayAdd = mayAdd
        app = keys[0].app.rawValue
        versions = keys.map { Version($0.systemVersion)?.canonicalText ?? "" }
        newTexts = Set(keys.flatMap { [$0.locale, $0.zone, $0.systemName, $0.systemVersion] } + versions)
            .filter { texts.numbers[$0] == nil }.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        phase = drawsNumbers ? .drawing : .naming
    }

    /// The first unit.
    var first: [PostgresStatement] {
        switch phase {
        case .drawing:
            [PostgresStatement(RollUpCellStatements.draw, Int64(mayAdd ? newTexts.count : 0), Int64(keys.count))]
        case .naming where needsTexts: naming
        case .naming, .creating, .finding, .finished: creating
        }
    }

    /// - Returns: the next unit; nil after the last one.
    mutating func next(_ results: [PostgresResult]) throws -> [PostgresStatement]? {
        switch phase {
        case .drawing:
            drawn = (try results[0][0].decode(0), try results[0][0].decode(1))
            phase = .naming
            return first
        case .naming where needsTexts:
            try texts.read(numbers: results[results.count - 1], zones: results[results.count - 2])
            phase = .creating
            return creating
        case .naming, .creating, .finding:
            if let drawn, phase != .finding {
                added = results[results.count - 1].count
                guard mayAdd, results[results.count - 1].count == keys.count else {
                    phase = .finding
                    return [find]
                }
                numbers = drawn.cells
            } else {
                if drawn == nil { added = results[results.count - 2].affectedRows }
                numbers = try found(results)
            }
            phase = .finished
            return nil
        case .finished: return nil
        }
    }

    // MARK: Texts

    private var needsTexts: Bool { !newTexts.isEmpty || !zones.isEmpty }

    /// The zones that PostgreSQL perhaps does not know.
    private var zones: [String] { Set(keys.map(\.zone)).subtracting(texts.knownZones).sorted() }

    private var naming: [PostgresStatement] {
        let keys = newTexts.map { Version($0)?.arrayLiteral }
        let add =
            if let drawn {
                PostgresStatement(RollUpCellStatements.addTextsOnCitus, app, newTexts, keys, drawn.texts)
            } else {
                PostgresStatement(RollUpCellStatements.addTexts, app, newTexts, keys)
            }
        let use = PostgresStatement(RollUpCellStatements.useTexts, app, newTexts)
        return (newTexts.isEmpty ? [] : mayAdd ? [use, add] : [use]) + [
            PostgresStatement(RollUpCellStatements.zones, zones),
            PostgresStatement(RollUpCellStatements.texts, app, newTexts),
        ]
    }

    // MARK: Cells

    private var creating: [PostgresStatement] {
        let new = mayAdd ? rows : overflow
        let use = statement(RollUpCellStatements.useCells, mayAdd ? new : rows + new)
        guard let drawn else { return [use, statement(RollUpCellStatements.addCells, new), find] }
        let cells = zip(new, drawn.cells).sorted { $0.0 < $1.0 }
        return [use, statement(RollUpCellStatements.addCellsOnCitus, cells.map(\.0), cells.map(\.1))]
    }

    private var find: PostgresStatement { statement(RollUpCellStatements.find, rows) }

    /// Of the keys, in their order.
    private var rows: [Row] { zip(keys, versions).map { key, version in Row(key, version, texts) } }

    private var overflow: [Row] { Array(Set(rows.map(\.overflow))) }

    private func found(_ results: [PostgresResult]) throws -> [Int64] {
        var numbers = [Int64](repeating: 0, count: keys.count)
        for row in results[results.count - 1] {
            guard let number = try row.decode(1, as: Int64?.self) else {
                throw StoreError.failed("a cell was not created")
            }
            numbers[try row.decode(0, as: Int.self) - 1] = number
        }
        return numbers
    }

    private func statement(_ prepared: PreparedSQL, _ rows: [Row], _ numbers: [Int64]? = nil) -> PostgresStatement {
        PostgresStatement(prepared) { binds in
            binds.bind(app)
            binds.bind(rows.map(\.provider.rawValue))
            binds.bind(rows.map(\.authorization.rawValue))
            binds.bind(rows.map(\.locale))
            binds.bind(rows.map(\.zone))
            binds.bind(rows.map(\.spelling))
            binds.bind(rows.map(\.system))
            binds.bind(rows.map(\.offset))
            binds.bind(rows.map(\.version))
            binds.bind(rows.map(\.isAssumed))
            if let numbers { binds.bind(numbers) }
        }
    }

    /// A row of `rollup_cell`. Its order is that of the rows of an INSERT, so that two services cannot deadlock.
    private struct Row: Hashable, Comparable {
        let provider: Provider
        let authorization: AuthorizationStatus
        let isAssumed: Bool
        var (locale, zone, spelling, system, version) = (Int64(0), Int64(0), Int64(0), Int64(0), Int64(0))
        var offset: Int32 = 0

        static func < (one: Row, other: Row) -> Bool { one.order.lexicographicallyPrecedes(other.order) }

        /// Of the columns, as PostgreSQL sorts them: an enumeration by its declaration.
        private var order: [Int64] {
            [
                Int64(Provider.allCases.firstIndex(of: provider) ?? 0),
                Int64(AuthorizationStatus.allCases.firstIndex(of: authorization) ?? 0),
                locale, zone, spelling, system, Int64(offset), version, isAssumed ? 1 : 0,
            ]
        }

        /// The cell that counts all combinations of this provider and authorization that have no cell.
        var overflow: Row { Row(provider: provider, authorization: authorization, isAssumed: isAssumed) }

        private init(provider: Provider, authorization: AuthorizationStatus, isAssumed: Bool) {
            (self.provider, self.authorization, self.isAssumed) = (provider, authorization, isAssumed)
        }

        /// A text without a number has no cell.
        init(_ key: RollUpCells.Key, _ canonical: String, _ texts: RollUpTexts) {
            self.init(provider: key.provider, authorization: key.authorization, isAssumed: key.isAssumed)
            locale = texts.numbers[key.locale] ?? -1
            zone = texts.numbers[key.zone] ?? -1
            spelling = texts.numbers[key.systemVersion] ?? -1
            system = texts.numbers[key.systemName] ?? -1
            version = canonical.isEmpty ? 0 : texts.numbers[canonical] ?? -1
            offset = texts.knownZones.contains(key.zone) ? 0 : key.offset
        }
    }
}

extension RollUpCellCreation {
    /// Sends all units. Each waits for other sessions that create the same texts or cells, on a connection of its own:
    /// look-ups do not wait with it.
    mutating func run(on postgres: PostgresClient, _ patience: LockPatience) async throws {
        var unit: [PostgresStatement]? = first
        while let statements = unit { unit = try next(try await postgres.execute(statements, patience)) }
    }

    /// Sends all units.
    package static func run(_ keys: [RollUpCells.Key], in session: PostgresSession) throws -> [Int64] {
        let count = try RollUpCellCount(session.execute(RollUpCellStatements.count(of: keys[0].app)))
        var creation = RollUpCellCreation(keys, mayAdd: RollUpCellLimits().admitsAll(count))
        var unit: [PostgresStatement]? = creation.first
        while let statements = unit { unit = try creation.next(try statements.map(session.execute)) }
        return creation.numbers
    }
}

/// The numbers of an app's texts (`rollup_text`), and the time zones that PostgreSQL knows. It may learn others: an
/// unknown zone is asked for each time.
struct RollUpTexts: Sendable {
    fileprivate(set) var numbers: [String: Int64] = [:]
    fileprivate(set) var knownZones: Set<String> = []

    init() {}

    var count: Int { numbers.count + knownZones.count }

    fileprivate mutating func read(numbers: PostgresResult, zones: PostgresResult) throws {
        for row in numbers { self.numbers[try row.decode(0)] = try row.decode(1, as: Int64.self) }
        for row in zones { knownZones.insert(try row.decode(0)) }
    }

    mutating func merge(_ other: RollUpTexts) {
        numbers.merge(other.numbers) { $1 }
        knownZones.formUnion(other.knownZones)
    }
}

extension Version {
    /// Canonical: version 17.0 is `17`, and version 0 is `0`.
    var canonicalText: String { components.isEmpty ? "0" : components.map(String.init).joined(separator: ".") }

    /// As PostgreSQL reads a `bigint[]`.
    fileprivate var arrayLiteral: String { "{" + components.map(String.init).joined(separator: ",") + "}" }
}
