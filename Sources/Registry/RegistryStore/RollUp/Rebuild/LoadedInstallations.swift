import PostgresClient
import PushRegistry

/// Installations that are loaded by COPY and not through the rules: a generated fleet.
package struct LoadedInstallations {
    private let app: AppNumber
    private var cells: [RollUpCells.Key: Int64] = [:]

    package init(of app: AppNumber) {
        self.app = app
    }

    /// The columns of `installation` that `bind` binds, for COPY in binary form.
    package static let columns: PostgresSQL = """
        app_id, install_id, provider, token, token_sha256, p256dh, auth, user_id, session_id, session_expires_at, \
        registrant, state, generation, registration_generation, epoch, revision, created_at, registered_at, \
        last_seen_at, state_changed_at, snapshot_at, cell, registration_digest, snapshot_digest, \
        \(sql: SnapshotColumns.batch.list.names)
        """

    /// - Parameters:
    ///   - digest: of `SentRegistration`.
    ///   - cell: as `numbers(of:in:)` returns it.
    package static func bind(
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
    package mutating func numbers(of registrations: [Registration], in session: PostgresSession) throws -> [Int64] {
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
    package func completeRows(of installIDs: [String], actor: String?, in session: PostgresSession) throws {
        typealias Statements = LoadedInstallationStatements
        for statement in [Statements.holders, Statements.owners, Statements.deltas] {
            _ = try session.execute(PostgresStatement(statement, app.rawValue, installIDs))
        }
        if let actor { _ = try session.execute(PostgresStatement(Statements.events, app.rawValue, installIDs, actor)) }
    }
}
