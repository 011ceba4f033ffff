import Basics
import PostgresClient
import PushRegistry

/// Assigns installations the cell of their values, if they have another one: in a rebuild, at night if there is room
/// again for those in overflow cells, and after a change of the time zones that PostgreSQL knows. It goes through an
/// app in the order of its keys; a registration waits for one batch at most.
///
/// Each unit of its steps but the last is a separate transaction.
package struct RollUpCellAssignment {
    /// Installations of a batch.
    private static let batch: Int64 = 5_000

    private struct Wrong {
        let installID: String
        let revision: Int64
        let key: RollUpCells.Key
    }

    private let app: AppNumber
    /// Whether an overflow cell is a wrong one.
    private let leavesOverflow: Bool
    private let limits: RollUpCellLimits

    package init(_ app: AppNumber, leavesOverflow: Bool = false, limits: RollUpCellLimits = RollUpCellLimits()) {
        (self.app, self.leavesOverflow, self.limits) = (app, leavesOverflow, limits)
    }

    /// They end with the number of installations that got another cell.
    package var steps: Steps<Int> { find(after: "", moved: 0) }

    private func find(after last: String, moved: Int) -> Steps<Int> {
        .send([
            RollUpAssignmentStatements.wrongCells(
                of: app, after: last, batch: Self.batch, withOverflow: leavesOverflow),
            RollUpCellStatements.count(of: app),
        ]) { results in
            // The first row has the end of the batch; the others are its installations with a wrong cell.
            guard let end = try results[0].first?.decode(0, as: String?.self) else { return .end(moved) }
            let wrong = try results[0].dropFirst().map { row in
                Wrong(installID: try row.decode(0), revision: try row.decode(1), key: try RollUpCells.Key(row, of: app))
            }
            guard !wrong.isEmpty else { return find(after: end, moved: moved) }
            let mayAdd = limits.admitsAll(try RollUpCellCount(results[1]))
            return try RollUpCellCreation(wrong.map(\.key), mayAdd: mayAdd).steps.then { creation in
                .send([move(wrong, to: creation.numbers)]) { results in
                    find(after: end, moved: moved + (try results[0][0].decode(0, as: Int.self)))
                }
            }
        }
    }

    private func move(_ wrong: [Wrong], to numbers: [Int64]) -> PostgresStatement {
        RollUpAssignmentStatements.move(
            in: app, installIDs: wrong.map(\.installID), revisions: wrong.map(\.revision), to: numbers)
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
        (self.locale, self.zone, self.offset) = (ExactText(locale), ExactText(zone), offset)
        (self.systemName, self.systemVersion) = (ExactText(systemName), ExactText(systemVersion))
    }
}
