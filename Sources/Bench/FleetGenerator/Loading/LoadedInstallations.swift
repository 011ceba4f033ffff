import PostgresClient
import PushRegistry
import RegistryStore

/// Installations that are loaded by COPY and not through the rules: a generated fleet.
struct LoadedInstallations {
    private let app: AppNumber
    private var cells: [RollUpCells.Key: Int64] = [:]

    init(of app: AppNumber) {
        self.app = app
    }

    /// The columns of `installation` that `bind` binds, for COPY in binary form.
    static let columns: PostgresSQL = """
        app_id, install_id, provider, token, token_sha256, p256dh, auth, user_id, session_id, session_expires_at, \
        registrant, state, generation, registration_generation, epoch, revision, created_at, registered_at, \
        last_seen_at, state_changed_at, snapshot_at, cell, registration_digest, snapshot_digest, \
        \(sql: SnapshotColumns.batch.list.names)
        """

    /// - Parameters:
    ///   - digest: of `SentRegistration`.
    ///   - cell: as `numbers(of:in:)` returns it.
    static func bind(
        _ installation: Installation, _ registration: Registration, digest: [UInt8], cell: Int64,
        to binds: inout PostgresBinds
    ) {
        binds.bind(installation.key.app.rawValue)
        binds.bind(installation.key.installID.rawValue)
        binds.bind(installation.provider.rawValue)
        binds.bind(registration.token.text)
        binds.bind(registration.tokenSHA256)
        binds.bind(installation.keys?.p256dh)
        binds.bind(installation.keys?.auth)
        binds.bind(installation.owner?.userID.rawValue)
        binds.bind(installation.owner?.session?.id.rawValue)
        binds.bind(installation.owner?.session?.expiresAt?.postgres)
        binds.bind(installation.owner.map { UserDigest.registrant(UserDigest.sha256($0.userID)) })
        binds.bind(installation.state.rawValue)
        binds.bind(installation.generation)
        binds.bind(installation.registrationGeneration)
        binds.bind(installation.epoch)
        binds.bind(installation.generation)
        binds.bind(installation.createdAt.postgres)
        binds.bind(installation.registeredAt.postgres)
        binds.bind(installation.lastSeenAt.postgres)
        binds.bind(installation.stateChangedAt.postgres)
        binds.bind(installation.createdAt.postgres)
        binds.bind(cell)
        binds.bind(digest)
        binds.bind(registration.snapshotDigest)
        SnapshotColumns.batch.bind(registration.snapshot, to: &binds)
    }

    /// The cells of these registrations, created where they are missing.
    mutating func numbers(of registrations: [Registration], in session: PostgresSession) throws -> [Int64] {
        let keys = registrations.map(RollUpCells.Key.init)
        let missing = Array(Set(keys.filter { cells[$0] == nil }))
        if !missing.isEmpty {
            for (key, number) in zip(missing, try RollUpCellCreation.run(missing, in: session)) { cells[key] = number }
        }
        return try keys.map { key in
            guard let number = cells[key] else { throw StoreError.failed("a cell was not created") }
            return number
        }
    }

    /// The rows beside these installations, and their counts.
    ///
    /// - Parameter actor: of the events; nil for none.
    func completeRows(of installIDs: [String], actor: String?, in session: PostgresSession) throws {
        typealias Statements = LoadedInstallationStatements
        for statement in [Statements.holders, Statements.owners, Statements.deltas] {
            _ = try session.execute(PostgresStatement(statement, app.rawValue, installIDs))
        }
        if let actor { _ = try session.execute(PostgresStatement(Statements.events, app.rawValue, installIDs, actor)) }
    }
}

/// The SQL of the rows beside installations that were loaded by COPY: those `$2` of the app `$1`.
private enum LoadedInstallationStatements {
    /// Benchmark, generated fleet (R1): adds tokens.
    static let holders = PreparedSQL(
        """
        INSERT INTO token_holder (app_id, provider, token_sha256, install_id)
        SELECT app_id, provider, token_sha256, install_id FROM installation
        WHERE app_id = $1 AND install_id = ANY ($2)
        """)

    /// Benchmark, generated fleet (R4): adds owners.
    static let owners = PreparedSQL(
        """
        INSERT INTO installation_owner (app_id, user_id, install_id, session_id, number)
        SELECT app_id, user_id, install_id, session_id, 0 FROM installation
        WHERE app_id = $1 AND install_id = ANY ($2) AND user_id IS NOT NULL
        """)

    /// Benchmark, generated fleet (R13): adds deltas.
    static let deltas = PreparedSQL(
        """
        \(sql: RollUpDeltaStatements.insert(from: """
            SELECT topics, cell, session_expires_at AS expires_at, 1 AS active, 1 AS installations FROM installation
            WHERE app_id = $1 AND install_id = ANY ($2)
            """))
        """)

    /// Benchmark, generated fleet (R12): adds events.
    static let events = PreparedSQL(
        """
        INSERT INTO token_event (position, at, app_id, install_id, event, reason, actor, provider, token_sha256,
            user_id, previous_user_id, state, generation_before, generation_after)
        SELECT \(sql: RollUpDeltaStatements.transactionID), created_at, app_id, install_id, 'registered',
            'firstRegistration', $3, provider, token_sha256, user_id, NULL, state, 0, generation
        FROM installation WHERE app_id = $1 AND install_id = ANY ($2)
        """)
}
