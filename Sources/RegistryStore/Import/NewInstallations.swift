import PostgresClient
import PushRegistry

/// The rows of a set that the registry does not know, for COPY into each table. That takes PostgreSQL less than half of
/// the time of `ImportStatements.merge`, which looks up each line and sorts all of them several times.
///
/// A row that the registry has already, or that another transaction adds at the same time, violates a primary key. Then
/// nothing is written, and the merging statement takes the set.
struct NewInstallations {
    /// The registry knows something about the set.
    struct NotNew: Error {}

    private let app: AppNumber
    private let topics: TopicCatalogue
    private let rows: [ImportedRow]
    /// The indices of the rows, in the order of `installId`.
    private let byInstallation: [Int]
    /// The indices of the rows, in the order of tokens, as PostgreSQL sorts them.
    private let byToken: [Int]

    /// - Parameter topics: of the choices, for their events.
    /// - Throws: `NotNew` if the set has an `installId` or a token twice.
    init(_ rows: [ImportedRow], of app: AppNumber, _ topics: TopicCatalogue) throws {
        (self.app, self.topics, self.rows) = (app, topics, rows)
        byInstallation = try Self.sorted(rows) { row in
            SortKey(prefix: 0, bytes: Array(row.installation.installID.rawValue.utf8))
        }
        byToken = try Self.sorted(rows) { row in
            SortKey(prefix: Self.order[row.installation.token.provider] ?? 0, bytes: row.tokenSHA256)
        }
    }

    /// Runs in a transaction. The locks are taken in the order of every transaction: users, sessions, tokens,
    /// installations.
    ///
    /// - Throws: `NotNew`; `PostgresError`, which is a lost race if the registry has one of the rows.
    func write(in session: PostgresSession) throws -> InstallationImporter.Counts {
        try addUsers(at: try now(session), session)
        // After the users are locked: a session that is added after a user's logout has a later time.
        let time = try now(session)
        try addSessions(at: time, session)
        try copyHolders(session)
        try copyInstallations(at: time, session)
        try copyOwners(session)
        // After the waits for deletions of the same ids: their events come earlier.
        let position: Int64 = try session.execute(PostgresStatement(RegistrationStatements.now))[0].decode(1)
        try copyEvents(at: time, position: position, session)
        if let counts = deltas.statement(in: app) { _ = try session.execute(counts) }
        var counts = InstallationImporter.Counts()
        counts.imported = rows.count
        counts.topicChoices = rows.reduce(0) { $0 + $1.installation.topicChoices.count }
        return counts
    }

    private func now(_ session: PostgresSession) throws -> PostgresTimestamp {
        try session.execute(ImportStatements.now)[0].decode(0)
    }

    // MARK: Order

    /// The values of PostgreSQL's type `provider`, in its order.
    private static let order = Dictionary(
        uniqueKeysWithValues: Provider.allCases.enumerated().map { ($1, UInt64($0)) })

    /// Bytes that are compared as PostgreSQL compares `bytea`, and text of the collation `C`.
    private struct SortKey: Comparable {
        /// Compared first.
        let prefix: UInt64
        let bytes: [UInt8]

        static func < (left: SortKey, right: SortKey) -> Bool {
            left.prefix == right.prefix ? left.bytes.lexicographicallyPrecedes(right.bytes) : left.prefix < right.prefix
        }
    }

    /// - Throws: `NotNew` if two rows have the same key.
    private static func sorted(_ rows: [ImportedRow], by key: (ImportedRow) -> SortKey) throws -> [Int] {
        let keys = rows.map(key)
        let order = rows.indices.sorted { keys[$0] < keys[$1] }
        for (left, right) in zip(order, order.dropFirst()) where keys[left] == keys[right] { throw NotNew() }
        return order
    }

    // MARK: Users and sessions

    /// Locks the users that the registry knows in share mode, and adds the others.
    ///
    /// - Throws: `NotNew` for a user with choices, which the installations would inherit, or who was logged out.
    private func addUsers(at now: PostgresTimestamp, _ session: PostgresSession) throws {
        let users = Set(rows.compactMap(\.userSHA256)).sorted { $0.lexicographicallyPrecedes($1) }
        guard !users.isEmpty else { return }
        var known: Set<Int64> = []
        for row in try session.execute(PostgresStatement(GuardStatements.shareUsers, app.rawValue, users)) {
            let refusedBefore: PostgresTimestamp? = try row.decode(1)
            let choices: [Int32]? = try row.decode(2)
            guard refusedBefore == nil, choices == nil else { throw NotNew() }
            known.insert(try row.decode(0))
        }
        _ = try session.copyIn(ImportCopyStatements.users) { writer in
            for (index, user) in users.enumerated() where !known.contains(Int64(index + 1)) {
                try writer.write(app.rawValue, user, now)
            }
        }
    }

    /// Locks the sessions that the registry knows in share mode, and adds the others.
    ///
    /// - Throws: `NotNew` for a session that has ended.
    private func addSessions(at now: PostgresTimestamp, _ session: PostgresSession) throws {
        var owners: [String: [UInt8]] = [:]
        for row in rows {
            guard let id = row.installation.session?.id.rawValue, let user = row.userSHA256 else { continue }
            owners[id] = owners[id] ?? user
        }
        let sessions = owners.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
        guard !sessions.isEmpty else { return }
        var known: Set<Int64> = []
        let share = PostgresStatement(GuardStatements.shareSessions, app.rawValue, sessions.map(\.key))
        for row in try session.execute(share) {
            guard try row.decode(1, as: PostgresTimestamp?.self) == nil else { throw NotNew() }
            known.insert(try row.decode(0))
        }
        _ = try session.copyIn(ImportCopyStatements.sessions) { writer in
            for (index, owned) in sessions.enumerated() where !known.contains(Int64(index + 1)) {
                try writer.write(app.rawValue, owned.key, owned.value, now)
            }
        }
    }

    // MARK: Installations

    private func copyHolders(_ session: PostgresSession) throws {
        _ = try session.copyIn(ImportCopyStatements.holders) { writer in
            for index in byToken {
                let row = rows[index]
                try writer.write(
                    app.rawValue, row.installation.token.provider.rawValue, row.tokenSHA256,
                    row.installation.installID.rawValue)
            }
        }
    }

    private func copyInstallations(at now: PostgresTimestamp, _ session: PostgresSession) throws {
        _ = try session.copyIn(ImportCopyStatements.installations) { writer in
            for index in byInstallation {
                try writer.write { binds in
                    ImportCopyStatements.bind(rows[index], of: app, at: now, to: &binds)
                    SnapshotColumns.batch.bind(rows[index].installation.snapshot, to: &binds)
                }
            }
        }
    }

    private func copyOwners(_ session: PostgresSession) throws {
        guard rows.contains(where: { $0.installation.userID != nil }) else { return }
        _ = try session.copyIn(ImportCopyStatements.owners) { writer in
            for index in byInstallation {
                let row = rows[index]
                guard let userID = row.installation.userID else { continue }
                try writer.write(
                    app.rawValue, userID.rawValue, row.installation.installID.rawValue,
                    row.installation.session?.id.rawValue)
            }
        }
    }

    private func copyEvents(at now: PostgresTimestamp, position: Int64, _ session: PostgresSession) throws {
        let generation = now.microsecondsSince1970
        _ = try session.copyIn(ImportCopyStatements.events) { writer in
            for index in byInstallation {
                let row = rows[index]
                func write(_ event: String, before: Int64, topics: [String]?) throws {
                    try writer.write(
                        position, now, app.rawValue, row.installation.installID.rawValue, event,
                        ImportStatements.reason, ImportStatements.actor, row.installation.token.provider.rawValue,
                        row.tokenSHA256, row.installation.userID?.rawValue, InstallationState.active.rawValue, before,
                        generation, topics)
                }
                try write("imported", before: 0, topics: nil)
                if let slugs = slugs(of: row) { try write("topicsChanged", before: generation, topics: slugs) }
            }
        }
    }

    /// Nil for an installation without choices.
    private func slugs(of row: ImportedRow) -> [String]? {
        guard !row.installation.topicChoices.isEmpty else { return nil }
        return row.installation.topicChoices.codes.compactMap { topics[TopicNumber(abs($0))]?.slug }.sorted()
            .map(\.rawValue)
    }

    private var deltas: RollUpDelta {
        var deltas = RollUpDelta()
        for row in rows {
            deltas.addActive(
                in: row.cell, expiringAt: row.installation.session?.expiresAt, topics: row.installation.topicChoices)
        }
        return deltas
    }
}
