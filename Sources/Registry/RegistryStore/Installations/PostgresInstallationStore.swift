import PostgresClient
import PushRegistry

/// Installations in PostgreSQL. Each event loop has one store.
public struct PostgresInstallationStore: InstallationStore {
    /// How often a transaction is tried if it loses races: another client may take the installation's token each time.
    private static let attemptsMax = 100

    private let resources: LoopResources
    private let registrations: RegistrationCoalescer
    /// One of them takes all registrations of an app.
    private let coalescers: [RegistrationCoalescer]

    public init(_ resources: LoopResources) {
        let registrations = RegistrationCoalescer(resources)
        self.init(resources, registrations, [registrations])
    }

    private init(
        _ resources: LoopResources, _ registrations: RegistrationCoalescer, _ coalescers: [RegistrationCoalescer]
    ) {
        self.resources = resources
        self.registrations = registrations
        self.coalescers = coalescers
    }

    /// The stores of all event loops of a process.
    ///
    /// On Citus, the loops share the apps. Most of a batch's price there is that of its statements, so that one loop
    /// with large batches is cheaper than several with small ones.
    public static func stores(on loops: [LoopResources]) -> [PostgresInstallationStore] {
        guard loops.allSatisfy(\.isDistributed) else { return loops.map { PostgresInstallationStore($0) } }
        let coalescers = loops.map { RegistrationCoalescer($0) }
        return zip(loops, coalescers).map { PostgresInstallationStore($0, $1, coalescers) }
    }

    /// Sends queued registrations until it is cancelled.
    public func run() async {
        await registrations.run()
    }

    public func register(_ sent: SentRegistration, ifDirectoryIs version: Int64?) async throws -> RegistrationOutcome {
        let coalescer = coalescers[Int(sent.key.app.rawValue) % coalescers.count]
        return try await coalescer.register(sent, ifDirectoryIs: version)
    }

    public func installation(_ key: InstallationKey) async throws -> InstallationRecord? {
        try await resources.storing(key.app) {
            let results = try await resources.postgres.read([
                InstallationStatements.read(key.app.rawValue, key.installID.rawValue),
                TypedTokenStatements.sets(of: [key.installID], in: key.app),
            ])
            let tokens = try results[1].map { try TypedTokenStatements.decode($0, in: key.app).token }
            return try results[0].first.map { try InstallationRecord($0, tokens: tokens) }
        }
    }

    public func delete(_ deletion: Deletion) async throws {
        try await resources.storing(deletion.key.app, refusing: DeletionRefusal.self) {
            try await resources.lone.withTurn(of: deletion.key.app) {
                try await resources.postgres.withTransaction(attemptsMax: Self.attemptsMax) {
                    try await delete(deletion, $0)
                }
            }
        }
    }

    private func delete(_ deletion: Deletion, _ transaction: PostgresTransaction) async throws {
        let (app, installID) = (deletion.key.app, deletion.key.installID)
        let checks = CredentialChecks([(deletion.credential, deletion.key, deletion.sessionTombstones)], in: app)
        let results = try await transaction.execute(
            [
                HolderStatements.lock(of: [installID], in: app),
                InstallationStatements.lock(app.rawValue, [installID.rawValue]), RegistrationStatements.now(),
            ] + checks.statements, .alone)
        let stored = try results[1].first.map { try InstallationColumns.decode($0) }
        let moment = try Moment(results[2])
        guard try checks.refusals(results[3...], at: moment.time).isEmpty else {
            throw DeletionRefusal.credentialEnded
        }
        switch deletion.decision(on: stored?.installation, at: moment.time) {
        case .nothing: break
        case .refuse(let refusal): throw refusal
        case .delete(let event):
            guard let stored else { return }
            // The installation may have got another token while this transaction waited for its lock.
            let locked = try results[0].map { try $0.decode(1, as: [UInt8].self) }
            guard stored.installation.tokenSHA256.map(locked.contains) ?? true else { throw LostRace() }
            var changes = ChangeSet(in: app, at: moment.time)
            changes.delete(stored)
            changes.record([event])
            try await transaction.commit(changes, at: moment)
        }
    }

    public func change(_ change: TypedTokenChange) async throws -> TypedTokenOutcome {
        try await resources.storing(change.key.app, refusing: TypedTokenRefusal.self) {
            try await resources.lone.withTurn(of: change.key.app) {
                try await resources.postgres.withTransaction(attemptsMax: Self.attemptsMax) {
                    try await TypedTokenWriter(change: change).write($0)
                }
            }
        }
    }

    public func snapshots(of key: InstallationKey, before: Int64?, limit: Int) async throws -> SnapshotPage? {
        try await resources.storing(key.app) {
            let results = try await resources.postgres.read([
                InstallationStatements.exists(key.app.rawValue, key.installID.rawValue),
                // One more row than requested shows whether another page follows.
                SnapshotStatements.page(key.app.rawValue, key.installID.rawValue, before ?? .max, Int64(limit) + 1),
            ])
            return results[0].isEmpty ? nil : try SnapshotPage(results[1], limit: limit, of: key.installID)
        }
    }
}

extension InstallationRecord {
    init(_ row: PostgresRow, tokens: [TypedToken] = []) throws {
        let installation = try InstallationColumns.decode(row).installation
        let text = try row.decode(InstallationColumns.count, as: String?.self)
        self.init(
            installation: installation, token: try text.map { try Token($0, of: installation.provider) },
            tokens: tokens,
            snapshot: try SnapshotColumns.decode(
                row, from: InstallationColumns.count + 2, installID: installation.key.installID),
            readAt: try row.decode(InstallationColumns.count + 1))
    }
}

extension SnapshotPage {
    fileprivate init(_ rows: PostgresResult, limit: Int, of installID: InstallID) throws {
        let page = Array(rows.prefix(limit))
        self.init(
            snapshots: try page.map { row in
                (try row.decode(1, as: Timestamp.self), try SnapshotColumns.decode(row, from: 2, installID: installID))
            },
            next: rows.count > limit ? try page.last?.decode(0) : nil)
    }
}
