import PostgresClient
import PushRegistry

/// Installations in PostgreSQL. One lives on each event loop.
public struct PostgresInstallationStore: InstallationStore {
    private let postgres: PostgresClient
    private let registrations: RegistrationCoalescer

    public init(postgres: PostgresClient) {
        self.postgres = postgres
        registrations = RegistrationCoalescer(loop: postgres.loop, postgres: postgres)
    }

    /// Carries registrations until it is cancelled.
    public func run() async {
        await registrations.run()
    }

    public func register(_ registration: Registration) async throws -> RegistrationOutcome {
        try await registrations.register(registration)
    }

    public func installation(_ key: InstallationKey) async throws -> InstallationRecord? {
        try await storing {
            let rows = try await postgres.execute(
                PostgresStatement(InstallationStatements.read, key.app.rawValue, key.installID.rawValue))
            return try rows.first.map(InstallationRecord.init)
        }
    }

    public func remove(_ removal: Removal) async throws {
        try await storing {
            try await postgres.withTransaction { transaction in
                let key = removal.key
                let results = try await transaction.execute([
                    PostgresStatement(RegistrationStatements.now),
                    PostgresStatement(InstallationStatements.lock, key.app.rawValue, key.installID.rawValue),
                ])
                let present = try results[1].first.map { try InstallationColumns.decode($0) }
                switch removal.decision(on: present, at: Timestamp(try results[0][0].decode(0))) {
                case .nothing: break
                case .refuse(let refusal): throw refusal
                case .remove(let event):
                    try await transaction.commit(after: statements(removing: event))
                    EventMeters.count([event])
                }
            }
        }
    }

    private func statements(removing event: TokenEvent) -> [PostgresStatement] {
        let (app, installID) = (event.key.app.rawValue, event.key.installID.rawValue)
        return [
            PostgresStatement(InstallationStatements.delete, app, installID),
            PostgresStatement(InstallationStatements.deleteSnapshots, app, installID),
            TokenEvent.batch.statement(RegistrationStatements.appendEvents, [event]),
        ]
    }

    public func snapshots(of key: InstallationKey, before: Int64?, limit: Int) async throws -> SnapshotPage? {
        try await storing {
            let results = try await postgres.execute([
                PostgresStatement(InstallationStatements.exists, key.app.rawValue, key.installID.rawValue),
                // One more than asked for tells whether another page follows.
                PostgresStatement(
                    InstallationStatements.snapshots, key.app.rawValue, key.installID.rawValue, before ?? .max,
                    Int64(limit) + 1),
            ])
            return results[0].isEmpty ? nil : try SnapshotPage(results[1], limit: limit, of: key.installID)
        }
    }

    /// Runs `body`; whatever the database throws leaves as a `StoreError`, a refusal as itself.
    private func storing<Value>(_ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch let refusal as RemovalRefusal {
            throw refusal
        } catch {
            throw StoreError(error)
        }
    }
}

/// The SQL of single installations.
enum InstallationStatements {
    /// What `InstallationRecord` is read from.
    static let recordColumns: PostgresSQL = """
        \(sql: InstallationColumns.list), i.token, statement_timestamp(), \(sql: SnapshotColumns.batch.list.names)
        """

    static let read = PreparedSQL(
        """
        SELECT \(sql: recordColumns)
        FROM installation i WHERE app_id = $1 AND install_id = $2
        """)

    static let lock = PreparedSQL(
        """
        SELECT \(sql: InstallationColumns.list) FROM installation i WHERE app_id = $1 AND install_id = $2 FOR UPDATE
        """)

    static let exists = PreparedSQL("SELECT true FROM installation WHERE app_id = $1 AND install_id = $2")

    static let delete = PreparedSQL("DELETE FROM installation WHERE app_id = $1 AND install_id = $2")

    static let deleteSnapshots = PreparedSQL("DELETE FROM settings_snapshot WHERE app_id = $1 AND install_id = $2")

    static let snapshots = PreparedSQL(
        """
        SELECT id, at, \(sql: SnapshotColumns.batch.list.names) FROM settings_snapshot
        WHERE app_id = $1 AND install_id = $2 AND id < $3 ORDER BY id DESC LIMIT $4
        """)
}

extension InstallationRecord {
    init(_ row: PostgresRow) throws {
        let installation = try InstallationColumns.decode(row)
        let text = try row.decode(InstallationColumns.count, as: String?.self)
        self.init(
            installation: installation, token: try text.map { try Token($0, of: installation.provider) },
            snapshot: try SnapshotColumns.decode(
                row, from: InstallationColumns.count + 2, installID: installation.key.installID),
            readAt: Timestamp(try row.decode(InstallationColumns.count + 1)))
    }
}

extension SnapshotPage {
    fileprivate init(_ rows: PostgresResult, limit: Int, of installID: InstallID) throws {
        let page = rows.prefix(limit)
        self.init(
            snapshots: try page.map { row in
                (Timestamp(try row.decode(1)), try SnapshotColumns.decode(row, from: 2, installID: installID))
            },
            next: rows.count > limit ? try page.last?.decode(0) : nil)
    }
}
