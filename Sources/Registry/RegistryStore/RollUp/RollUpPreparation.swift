import PostgresClient
import PushRegistry

/// The preparation of a process before it folds. It reads the names of time zones, which an upgrade of PostgreSQL or
/// tzdata may have changed. Changed names are stored until all their installations have their cells, so another process
/// finishes what one leaves.
struct RollUpPreparation {
    let postgres: PostgresClient

    func run() async throws {
        _ = try await postgres.execute(RollUpPreparationStatements.learnZones)
        let changed = try await postgres.execute(RollUpPreparationStatements.changedZones)
        let names: [String] = try changed.map { try $0.decode(0) }
        guard !names.isEmpty else { return }
        for row in try await postgres.execute(RollUpPreparationStatements.apps(with: names)) {
            try await assignCells(of: AppNumber(try row.decode(0)))
        }
        _ = try await postgres.execute(RollUpPreparationStatements.forget(names))
    }

    /// Cells distinguish offsets only of unknown zones.
    private func assignCells(of app: AppNumber) async throws {
        var assignment = RollUpCellAssignment(app)
        var unit: [PostgresStatement]? = assignment.first
        while let statements = unit { unit = try assignment.next(try await postgres.execute(statements)) }
    }
}
