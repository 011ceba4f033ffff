import PostgresClient
import PushRegistry

/// Finds the numbers of an app's cells, and creates those that are missing, in two units. A value that returns the
/// statements to send, as `RollUpFold` does.
struct RollUpCellCreation {
    let keys: [RollUpCells.Key]
    /// Whether the app may have more cells. Otherwise, overflow cells count new combinations.
    private let mayAdd: Bool
    private let app: Int32
    private let versions: [String]

    /// - Parameters:
    ///   - keys: at least one, all of one app.
    ///   - count: the app's cells, as `RollUpCellStatements.count` returns it.
    init(_ keys: [RollUpCells.Key], count: Int64) {
        self.keys = keys
        mayAdd = count < RollUpCells.cellsOfAppMax
        app = keys[0].app.rawValue
        versions = keys.map { Version($0.systemVersion)?.canonicalText ?? "" }
    }

    /// The first unit: the texts of the cells.
    var texts: [PostgresStatement] {
        let texts = Set(keys.flatMap { [$0.locale, $0.zone, $0.systemName, $0.systemVersion] } + versions).sorted()
        let add = PostgresStatement(
            RollUpCellStatements.addTexts, app, texts, texts.map { Version($0)?.arrayLiteral })
        return (mayAdd ? [add] : []) + [
            PostgresStatement(RollUpCellStatements.zones, Array(Set(keys.map(\.zone)))),
            PostgresStatement(RollUpCellStatements.texts, app, texts),
        ]
    }

    /// The second unit, after the results of the first one.
    func cells(_ results: [PostgresResult]) throws -> [PostgresStatement] {
        let zones = Set(try results[results.count - 2].map { try $0.decode(0, as: String.self) })
        let numbers = try Dictionary(
            uniqueKeysWithValues: results[results.count - 1].map { row in
                (try row.decode(0, as: String.self), try row.decode(1, as: Int64.self))
            })
        let rows = zip(keys, versions).map { key, version in Row(key, version, numbers, zones) }
        let added = mayAdd ? rows : Array(Set(rows.map(\.overflow)))
        return [statement(RollUpCellStatements.addCells, added), statement(RollUpCellStatements.find, rows)]
    }

    /// The number of each key's cell, after the results of the second unit.
    func numbers(_ results: [PostgresResult]) throws -> [Int64] {
        var numbers = [Int64](repeating: 0, count: keys.count)
        for row in results[results.count - 1] {
            guard let number = try row.decode(1, as: Int64?.self) else {
                throw StoreError.failed("a cell was not created")
            }
            numbers[try row.decode(0, as: Int.self) - 1] = number
        }
        return numbers
    }

    private func statement(_ prepared: PreparedSQL, _ rows: [Row]) -> PostgresStatement {
        PostgresStatement(
            prepared, app, rows.map(\.provider.rawValue), rows.map(\.authorization.rawValue), rows.map(\.locale),
            rows.map(\.zone), rows.map(\.spelling), rows.map(\.system), rows.map(\.offset), rows.map(\.version),
            rows.map(\.isAssumed))
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
        init(_ key: RollUpCells.Key, _ canonical: String, _ numbers: [String: Int64], _ zones: Set<String>) {
            self.init(provider: key.provider, authorization: key.authorization, isAssumed: key.isAssumed)
            locale = numbers[key.locale] ?? -1
            zone = numbers[key.zone] ?? -1
            spelling = numbers[key.systemVersion] ?? -1
            system = numbers[key.systemName] ?? -1
            version = canonical.isEmpty ? 0 : numbers[canonical] ?? -1
            offset = zones.contains(key.zone) ? 0 : key.offset
        }
    }
}

extension RollUpCellCreation {
    /// Sends both units.
    static func run(_ keys: [RollUpCells.Key], count: Int64, on postgres: PostgresClient) async throws -> [Int64] {
        let creation = RollUpCellCreation(keys, count: count)
        let texts = try await postgres.execute(creation.texts)
        return try creation.numbers(try await postgres.execute(try creation.cells(texts)))
    }

    /// Sends both units.
    static func run(_ keys: [RollUpCells.Key], in session: PostgresSession) throws -> [Int64] {
        let count: Int64 = try session.execute(RollUpCellStatements.count(of: keys[0].app))[0].decode(0)
        let creation = RollUpCellCreation(keys, count: count)
        let texts = try creation.texts.map(session.execute)
        return try creation.numbers(try creation.cells(texts).map(session.execute))
    }
}

extension Version {
    /// Canonical: version 17.0 is `17`, and version 0 is `0`.
    var canonicalText: String { components.isEmpty ? "0" : components.map(String.init).joined(separator: ".") }

    /// As PostgreSQL reads a `bigint[]`.
    fileprivate var arrayLiteral: String { "{" + components.map(String.init).joined(separator: ",") + "}" }
}
