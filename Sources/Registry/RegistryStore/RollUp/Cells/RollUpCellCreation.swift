import Basics
import PostgresClient
import PushRegistry

/// Finds the numbers of an app's cells, and creates those that are missing: by one unit that draws numbers, at most one
/// for texts, and one for cells.
///
/// Each of the last two first removes the marks of unused rows (`UnusedCells`). A row that is deleted meanwhile is
/// created again.
package struct RollUpCellCreation {
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
    /// The texts without a number.
    private let newTexts: [String]

    /// - Parameters:
    ///   - keys: at least one, all of one app.
    ///   - mayAdd: whether the app may have more cells.
    ///   - texts: those that are known.
    init(_ keys: [RollUpCells.Key], mayAdd: Bool, texts: RollUpTexts = RollUpTexts()) {
        self.keys = keys
        self.texts = texts
        self.mayAdd = mayAdd
        app = keys[0].app.rawValue
        versions = keys.map { Version($0.systemVersion.text)?.canonicalText ?? "" }
        let sent = keys.flatMap { [$0.locale, $0.zone, $0.systemName, $0.systemVersion] }
        newTexts = Set(sent + versions.map { ExactText($0) }).filter { texts.numbers[$0] == nil }.sorted().map(\.text)
    }

    /// They end with this value, which then has the numbers. On Citus, an INSERT that draws numbers itself would not be
    /// executed on the app's node.
    var steps: Steps<RollUpCellCreation> {
        .send([RollUpCellStatements.draw(Int64(newTexts.count), Int64(keys.count))]) { results in
            let (texts, cells): ([Int64], [Int64]) = (try results[0][0].decode(0), try results[0][0].decode(1))
            guard !newTexts.isEmpty || !zones.isEmpty else { return create(cells) }
            return .send(naming(texts)) { results in
                var named = self
                try named.texts.read(numbers: results[results.count - 1], zones: results[results.count - 2])
                return named.create(cells)
            }
        }
    }

    // MARK: Texts

    /// The zones that PostgreSQL perhaps does not know.
    private var zones: [String] { Set(keys.map(\.zone)).subtracting(texts.knownZones).sorted().map(\.text) }

    /// - Parameter drawn: the numbers of new texts.
    private func naming(_ drawn: [Int64]) -> [PostgresStatement] {
        let keys = newTexts.map { Version($0)?.arrayLiteral }
        let add = RollUpCellStatements.addTexts(app, newTexts, keys, drawn)
        let use = RollUpCellStatements.useTexts(app, newTexts)
        return (newTexts.isEmpty ? [] : mayAdd ? [use, add] : [use]) + [
            RollUpCellStatements.zones(zones),
            RollUpCellStatements.texts(app, newTexts),
        ]
    }

    // MARK: Cells

    /// - Parameter drawn: the numbers of new cells.
    private func create(_ drawn: [Int64]) -> Steps<RollUpCellCreation> {
        let new = mayAdd ? rows : overflow
        return .send([
            statement(RollUpCellStatements.useCells, mayAdd ? new : rows + new),
            statement(RollUpCellStatements.addCells, new, Array(drawn.prefix(new.count))),
            statement(RollUpCellStatements.find, rows),
        ]) { results in
            var created = self
            created.added = results[1].affectedRows
            created.numbers = try found(results[2])
            return .end(created)
        }
    }

    /// Of the keys, in their order.
    private var rows: [Row] { zip(keys, versions).map { key, version in Row(key, version, texts) } }

    private var overflow: [Row] { Array(Set(rows.map(\.overflow))) }

    private func found(_ rows: PostgresResult) throws -> [Int64] {
        var numbers = [Int64](repeating: 0, count: keys.count)
        for row in rows {
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

    /// A row of `rollup_cell`.
    private struct Row: Hashable {
        let provider: Provider
        let authorization: AuthorizationStatus
        let isAssumed: Bool
        var (locale, zone, spelling, system, version) = (Int64(0), Int64(0), Int64(0), Int64(0), Int64(0))
        var offset: Int32 = 0

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
            version = canonical.isEmpty ? 0 : texts.numbers[ExactText(canonical)] ?? -1
            offset = texts.knownZones.contains(key.zone) ? 0 : key.offset
        }
    }
}

extension RollUpCellCreation {
    /// Sends all units. Each waits for other sessions that create the same texts or cells, on a connection of its own:
    /// look-ups do not wait with it.
    func run(on postgres: PostgresClient, _ patience: LockPatience) async throws -> RollUpCellCreation {
        try await steps.run { try await postgres.execute($0, patience) }
    }

    /// Sends all units.
    package static func run(_ keys: [RollUpCells.Key], in session: PostgresSession) throws -> [Int64] {
        let count = try RollUpCellCount(session.execute(RollUpCellStatements.count(of: keys[0].app)))
        let creation = RollUpCellCreation(keys, mayAdd: RollUpCellLimits().admitsAll(count))
        return try creation.steps.run(in: session).numbers
    }
}

/// The numbers of an app's texts (`rollup_text`), and the time zones that PostgreSQL knows. It may learn others: an
/// unknown zone is asked for each time.
struct RollUpTexts: Sendable {
    fileprivate(set) var numbers: [ExactText: Int64] = [:]
    fileprivate(set) var knownZones: Set<ExactText> = []

    init() {}

    var count: Int { numbers.count + knownZones.count }

    fileprivate mutating func read(numbers: PostgresResult, zones: PostgresResult) throws {
        for row in numbers { self.numbers[ExactText(try row.decode(0))] = try row.decode(1, as: Int64.self) }
        for row in zones { knownZones.insert(ExactText(try row.decode(0))) }
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
