import PostgresClient
import PushRegistry

/// Assigns installations the cell of their values, if they have another one: in a rebuild, at night if there is room
/// again for those in overflow cells, and after a change of the time zones that PostgreSQL knows. It goes through an
/// app in the order of its keys; a registration waits for one batch at most.
///
/// A value, like `RollUpFold`: it returns the next statements. Each unit but the last is a separate transaction.
package struct RollUpCellAssignment {
    /// Installations of a batch.
    private static let batch: Int64 = 5_000

    private enum Phase {
        case finding
        case creating([Wrong], RollUpCellCreation)
        case moving
    }

    private struct Wrong {
        let installID: String
        let revision: Int64
        let key: RollUpCells.Key
    }

    private let app: AppNumber
    /// Whether an overflow cell is a wrong one.
    private let leavesOverflow: Bool
    private let limits: RollUpCellLimits
    private var phase = Phase.finding
    private var last = ""
    /// How many installations got another cell.
    package private(set) var moved = 0

    package init(_ app: AppNumber, leavesOverflow: Bool = false, limits: RollUpCellLimits = RollUpCellLimits()) {
        (self.app, self.leavesOverflow, self.limits) = (app, leavesOverflow, limits)
    }

    package var first: [PostgresStatement] { find }

    private var find: [PostgresStatement] {
        [
            RollUpAssignmentStatements.wrongCells(
                of: app, after: last, batch: Self.batch, withOverflow: leavesOverflow),
            RollUpCellStatements.count(of: app),
        ]
    }

    package mutating func next(_ results: [PostgresResult]) throws -> [PostgresStatement]? {
        switch phase {
        case .finding: return try found(results)
        case .creating(let wrong, var creation):
            guard let unit = try creation.next(results) else { return move(wrong, to: creation.numbers) }
            phase = .creating(wrong, creation)
            return unit
        case .moving:
            moved += try results[0][0].decode(0, as: Int.self)
            phase = .finding
            return find
        }
    }

    /// The first row has the end of the batch; the others are its installations with a wrong cell.
    private mutating func found(_ results: [PostgresResult]) throws -> [PostgresStatement]? {
        guard let end = try results[0].first?.decode(0, as: String?.self) else { return nil }
        last = end
        let wrong = try results[0].dropFirst().map { row in
            Wrong(installID: try row.decode(0), revision: try row.decode(1), key: try RollUpCells.Key(row, of: app))
        }
        guard !wrong.isEmpty else { return find }
        let creation = RollUpCellCreation(
            wrong.map(\.key), mayAdd: limits.admitsAll(try RollUpCellCount(results[1])))
        phase = .creating(wrong, creation)
        return creation.first
    }

    private mutating func move(_ wrong: [Wrong], to numbers: [Int64]) -> [PostgresStatement]? {
        phase = .moving
        return [
            RollUpAssignmentStatements.move(
                in: app, installIDs: wrong.map(\.installID), revisions: wrong.map(\.revision), to: numbers)
        ]
    }
}

extension RollUpCells.Key {
    /// - Parameter row: of `RollUpAssignmentStatements.wrongCells`.
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
        isAssumed = settings.authorizationAssumed
        self.locale = locale
        self.zone = zone
        self.offset = offset
        self.systemName = systemName
        self.systemVersion = systemVersion
    }
}
