import PostgresClient
import PushRegistry

/// Gives installations the cell that says what they say, where they have another: a rebuild, and a change of the time
/// zones that PostgreSQL knows. It goes through an app in the order of its keys; nobody waits for more than a batch.
///
/// A value, as `RollUpFold` is: it says what to send next. Each unit but the last is a transaction of its own.
struct RollUpCellAssignment {
    /// Installations of a batch.
    private static let batch: Int64 = 5_000

    private enum Phase {
        case finding
        case creating([Wrong])
        case moving
    }

    private struct Wrong {
        let installID: String
        let revision: Int64
        let key: RollUpCells.Key
    }

    private let app: AppNumber
    private var phase = Phase.finding
    private var last = ""
    /// How many installations got another cell.
    private(set) var moved = 0

    init(_ app: AppNumber) {
        self.app = app
    }

    var first: [PostgresStatement] { find }

    private var find: [PostgresStatement] {
        [
            RollUpRebuildStatements.wrongCells(of: app, after: last, batch: Self.batch),
            RollUpCellStatements.count(of: app),
        ]
    }

    mutating func next(_ results: [PostgresResult]) throws -> [PostgresStatement]? {
        switch phase {
        case .finding: return try found(results)
        case .creating(let wrong): return try created(results[results.count - 1], wrong)
        case .moving:
            moved += try results[0][0].decode(0, as: Int.self)
            phase = .finding
            return find
        }
    }

    /// The first row says how far the batch goes; the others are what is wrong in it.
    private mutating func found(_ results: [PostgresResult]) throws -> [PostgresStatement]? {
        guard let end = try results[0].first?.decode(0, as: String?.self) else { return nil }
        last = end
        let wrong = try results[0].dropFirst().map { row in
            Wrong(installID: try row.decode(0), revision: try row.decode(1), key: try RollUpCells.Key(row, of: app))
        }
        guard !wrong.isEmpty else { return find }
        phase = .creating(wrong)
        let mayAdd = try results[1][0].decode(0, as: Int64.self) < RollUpCells.cellsOfAppMax
        return RollUpCellStatements.create(wrong.map(\.key), mayAdd: mayAdd)
    }

    private mutating func created(_ cells: PostgresResult, _ wrong: [Wrong]) throws -> [PostgresStatement]? {
        var numbers = [Int64](repeating: 0, count: wrong.count)
        for row in cells { numbers[try row.decode(0, as: Int.self) - 1] = try row.decode(1) }
        phase = .moving
        return [
            RollUpRebuildStatements.move(
                in: app, installIDs: wrong.map(\.installID), revisions: wrong.map(\.revision), to: numbers)
        ]
    }
}

extension RollUpCells.Key {
    /// - Parameter row: as `RollUpRebuildStatements.wrongCells` answers it.
    fileprivate init(_ row: PostgresRow, of app: AppNumber) throws {
        guard let provider = Provider(rawValue: try row.decode(2)) else { throw StoreError.failed("unknown provider") }
        self.init(
            app: app, provider: provider, settings: PackedSettings.decode(try row.decode(3)), locale: try row.decode(4),
            zone: try row.decode(5), offset: try row.decode(6), systemName: try row.decode(7),
            systemVersion: try row.decode(8))
    }

    init(
        app: AppNumber, provider: Provider, settings: NotificationSettings, locale: String, zone: String, offset: Int32,
        systemName: String, systemVersion: String
    ) {
        self.app = app
        self.provider = provider
        authorization = settings.authorizationStatus
        self.locale = locale
        self.zone = zone
        self.offset = offset
        self.systemName = systemName
        self.systemVersion = systemVersion
    }
}
