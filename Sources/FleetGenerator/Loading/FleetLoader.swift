import PostgresClient
import PushRegistry
import RegistryStore

/// Fills a database with a fleet by COPY, in transactions of some thousand installations: memory stays flat, and what was
/// loaded before a failure stays.
public struct FleetLoader: Sendable {
    /// Enough to make a transaction's own cost vanish, at about 3 KB of memory each.
    public static let installationsPerTransaction = 5_000

    /// Whether each installation gets its `registered` event and its settings snapshot, as the service writes them.
    public var writesHistory = true
    /// Called after every transaction with the number of installations loaded so far. On the loading thread.
    public var progress: @Sendable (Int) -> Void = { _ in }

    public init() {}

    /// Loads the installations `numbers` of the fleet; none of them may be there. Then has the planner's statistics made.
    ///
    /// Commits are not waited for until the last, which makes all of them durable.
    ///
    /// - Throws: `PostgresError`; `cancelled` between two transactions if the task is cancelled.
    public func load(_ fleet: Fleet, _ numbers: Range<Int>? = nil, into database: PostgresConfiguration) async throws {
        let numbers = numbers ?? fleet.indices
        try await PostgresSession.withSession(database) { session in
            try session.run(script: "SET synchronous_commit = off")
            for start in stride(from: numbers.lowerBound, to: numbers.upperBound, by: Self.installationsPerTransaction)
            {
                let end = min(start + Self.installationsPerTransaction, numbers.upperBound)
                try session.checkCancellation()
                try session.withTransaction { try copy(fleet, start..<end, session) }
                progress(end - numbers.lowerBound)
            }
            try session.run(script: "SET synchronous_commit = on; ANALYZE installation")
            if writesHistory { try session.run(script: "ANALYZE token_event; ANALYZE settings_snapshot") }
        }
    }

    private func copy(_ fleet: Fleet, _ numbers: Range<Int>, _ session: PostgresSession) throws {
        var rows: [FleetRow] = []
        rows.reserveCapacity(numbers.count)
        _ = try session.copyIn(Self.installations) { writer in
            for number in numbers {
                let row = FleetRow(fleet[number], app: fleet.app)
                try writer.write { binds in
                    InstallationRow.binding.bind(row.row, to: &binds)
                    SnapshotColumns.batch.bind(row.row.snapshot, to: &binds)
                }
                if writesHistory { rows.append(row) }
            }
        }
        if writesHistory { try copyHistory(of: rows, session) }
    }

    private func copyHistory(of rows: [FleetRow], _ session: PostgresSession) throws {
        _ = try session.copyIn(Self.events) { writer in
            for event in rows.lazy.flatMap(\.events) { try writer.write { TokenEvent.batch.bind(event, to: &$0) } }
        }
        _ = try session.copyIn(Self.snapshots) { writer in
            for row in rows.lazy.map(\.row) { try writer.write { bindSnapshot(row, &$0) } }
        }
    }

    /// The history of settings says when each was sent: here, at the first registration.
    private func bindSnapshot(_ row: InstallationRow, _ binds: inout PostgresBinds) {
        binds.bind(PostgresTimestamp(microsecondsSince1970: row.installation.createdAt.microseconds))
        binds.bind(row.installation.key.app.rawValue)
        binds.bind(row.installation.key.installID.rawValue)
        SnapshotColumns.batch.bind(row.snapshot, to: &binds)
    }

    private static let installations = PostgresStatement(
        "COPY installation (\(sql: InstallationRow.columns.names)) FROM STDIN (FORMAT binary)")
    private static let events = PostgresStatement(
        "COPY token_event (\(sql: TokenEvent.batch.list.names)) FROM STDIN (FORMAT binary)")
    private static let snapshots = PostgresStatement(
        "COPY settings_snapshot (at, app_id, install_id, \(sql: SnapshotColumns.batch.list.names)) FROM STDIN (FORMAT binary)"
    )
}
