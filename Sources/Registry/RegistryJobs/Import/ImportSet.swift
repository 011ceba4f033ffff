import PostgresClient
import PushRegistry
import RegistryStore

/// The lines of one transaction of an import. It reads what the registry has of them, leaves out the lines that it must
/// not write, and copies the others into the tables. That takes PostgreSQL half of the time of INSERTs.
///
/// A row that another transaction adds at the same time violates a primary key: the transaction has lost a race.
struct ImportSet {
    private let app: AppNumber
    private let topics: TopicCatalogue
    /// Of all lines.
    private let ids: [InstallID]
    /// The first line of each installation.
    private let rows: [ImportedRow]

    /// - Parameter topics: of the choices, for their events.
    init(_ lines: [ImportedRow], of app: AppNumber, _ topics: TopicCatalogue) {
        (self.app, self.topics) = (app, topics)
        ids = lines.map(\.id)
        rows = lines.firsts { $0.id }
    }

    /// The lines to write, with what the registry has of them.
    private struct Chosen {
        /// Drawn before the rows of earlier installations are waited for.
        let moment: Moment
        var counts = InstallationImporter.Counts()
        /// In the order of ids.
        var rows: [ImportedRow] = []
        /// The tokens that have a row in `token_holder`, without a holder.
        var freeTokens: Set<TokenAddress> = []
        /// The choices of users.
        var choices: [UserID: TopicChoices] = [:]

        /// An installation's choices, over those of its user.
        func topics(of row: ImportedRow) -> TopicChoices {
            row.installation.topicChoices.over(row.installation.userID.flatMap { choices[$0] } ?? TopicChoices())
        }
    }

    /// Runs in a transaction.
    ///
    /// - Parameter isNew: whether to expect that the registry has none of the installations and tokens, and not to look
    ///   for them.
    /// - Throws: `LostRace`, `PostgresError`, also if the registry has one of them.
    func write(expectingNew isNew: Bool, in session: PostgresSession) throws -> InstallationImporter.Counts {
        guard try !session.execute(RollUpStatements.find(app.rawValue)).isEmpty else {
            throw StoreError.failed("the app was deleted")
        }
        let chosen = try choose(expectingNew: isNew, session)
        guard !chosen.rows.isEmpty else { return chosen.counts }
        try copyHolders(chosen, session)
        try session.copy(chosen.rows, ImportStatements.installations) { row, binds in
            row.bind(of: app, topics: chosen.topics(of: row), at: chosen.moment, to: &binds)
        }
        try writeOwners(of: chosen, expectingNew: isNew, session)
        // After the waits for deletions of the same ids: their events come earlier.
        let written = try Self.moment(session)
        try copyEvents(chosen, at: written.position, session)
        if let counts = delta(of: chosen).statement(in: app) { _ = try session.execute(counts) }
        if !isNew {
            let ids = chosen.rows.map(\.id.rawValue)
            let check = RegistrationStatements.checkOrder(
                of: ids, in: app, at: written, writing: written.eventIDs.lowerBound ... .max)
            _ = try session.execute(check)
        }
        return chosen.counts
    }

    /// Counts what `write` would do. It writes nothing; a transaction that it runs in should be rolled back, because it
    /// locks rows.
    func forecast(_ policy: AppPolicy, in session: PostgresSession) throws -> InstallationImporter.Counts {
        let chosen = try choose(expectingNew: false, session)
        var counts = chosen.counts
        counts.forecast = ImportForecast(chosen.rows, CleanUpBounds(policy, asOf: chosen.moment.time))
        return counts
    }
}

// MARK: - What the registry has

extension ImportSet {
    /// Takes locks in the order of every transaction: buckets, then tokens.
    private func choose(expectingNew isNew: Bool, _ session: PostgresSession) throws -> Chosen {
        let present = isNew ? [] : try presentInstallations(session)
        var rest = present.isEmpty ? rows : rows.filter { !present.contains($0.id) }
        let (tombstones, choices) = try guards(of: rest, session)
        var chosen = Chosen(moment: try moment(session), choices: choices)
        rest = rest.filter { !isRefused($0, by: tombstones, at: chosen.moment.time) }.firsts { $0.address(in: app) }
        if !isNew {
            let holders = try lockHolders(of: rest, session)
            rest = rest.filter { (holders[$0.address(in: app)] ?? nil) == nil }
            chosen.freeTokens = Set(holders.filter { $0.value == nil }.keys)
        }
        // Ids are ASCII: their order as texts is that of their bytes.
        chosen.rows = rest.sorted { $0.id.rawValue < $1.id.rawValue }
        chosen.counts.imported = rest.count
        if rest.count < ids.count {
            // Of the lines about an installation that the registry has then, one is written or none.
            let known = present.union(rest.map(\.id))
            chosen.counts.skipped = ids.count { !known.contains($0) }
            chosen.counts.unchanged = ids.count - chosen.counts.skipped - rest.count
        }
        chosen.counts.topicChoices = rest.reduce(0) { $0 + $1.installation.topicChoices.count }
        return chosen
    }

    private static func moment(_ session: PostgresSession) throws -> Moment {
        try Moment(session.execute(RegistrationStatements.now()))
    }

    /// The generations of the lines' clients are of another registry. Those of this one begin above them.
    private func moment(_ session: PostgresSession) throws -> Moment {
        let moment = try Self.moment(session)
        let highest = rows.lazy.compactMap(\.installation.generation).max() ?? 0
        guard Installation.firstGeneration(moment.number) <= highest else { return moment }
        _ = try session.execute(ImportStatements.lockNumbers)
        _ = try session.execute(ImportStatements.raiseNumber(Installation.number(after: highest)))
        return try Self.moment(session)
    }

    private func presentInstallations(_ session: PostgresSession) throws -> Set<InstallID> {
        let statement = ImportStatements.present(app.rawValue, rows.map(\.id.rawValue))
        return Set(try session.execute(statement).map { try InstallID($0.decode(0)) })
    }

    private func lockHolders(
        of rows: [ImportedRow], _ session: PostgresSession
    ) throws -> [TokenAddress: InstallID?] {
        let lock = HolderStatements.lock(rows.map { $0.address(in: app) }, in: app)
        return try HolderStatements.holders(session.execute(lock), in: app)
    }

    /// What is remembered of the lines' users and sessions (R7). Until the transaction ends, none of them ends.
    private func guards(
        of rows: [ImportedRow], _ session: PostgresSession
    ) throws -> (tombstones: Tombstones, choices: [UserID: TopicChoices]) {
        var guards = RegistrationGuards(in: app)
        for row in rows {
            if let owner = row.owner, let digest = row.userSHA256 { guards.add(owner, digest, on: row.key(in: app)) }
        }
        guard !guards.users.isEmpty else { return (Tombstones(), [:]) }
        _ = try session.execute(guards.lock)
        return try guards.decode(guards.reads.map { try session.execute($0) }[...])
    }

    /// Whether the line's user was logged out, everywhere or of the installation, or erased after the line's time, or
    /// its session was ended. A line without a time counts as older than every logout.
    private func isRefused(_ row: ImportedRow, by tombstones: Tombstones, at now: Timestamp) -> Bool {
        guard let owner = row.owner else { return false }
        func logout(of session: SessionID?) -> Timestamp? {
            tombstones.installations[.init(key: row.key(in: app), userID: owner.userID, sessionID: session)]
        }
        if let session = owner.session?.id {
            let ended = tombstones.endedSessions[.init(app: app, sessionID: session)]
            if ended != nil || logout(of: session) != nil { return true }
        }
        let logouts = [logout(of: nil), tombstones.users[.init(app: app, userID: owner.userID)]?.time]
        return logouts.compactMap(\.self).contains { logout in
            row.installation.lastSeenAt.map { logout > min($0, now) } ?? true
        }
    }
}

// MARK: - Writing

extension ImportSet {
    private func copyHolders(_ chosen: Chosen, _ session: PostgresSession) throws {
        let holders = chosen.rows.map { (token: $0.address(in: app), id: $0.id) }
        let new = holders.filter { !chosen.freeTokens.contains($0.token) }
            .sorted { $0.token.precedesInLockOrder($1.token) }
        _ = try session.copyIn(ImportStatements.holders) { writer in
            for (token, id) in new {
                try writer.write(app.rawValue, token.provider.rawValue, token.sha256, id.rawValue)
            }
        }
        let free = holders.filter { chosen.freeTokens.contains($0.token) }.map { ($0.token, InstallID?.some($0.id)) }
        if !free.isEmpty { _ = try session.execute(HolderStatements.move(free, in: app)) }
    }

    /// The row of a returning user exists already.
    private func writeOwners(of chosen: Chosen, expectingNew isNew: Bool, _ session: PostgresSession) throws {
        let number = chosen.moment.number
        let bound = chosen.rows.compactMap { row in row.owner.map { (row, $0) } }
        guard !bound.isEmpty else { return }
        guard isNew else {
            var owners = OwnerChanges()
            for (row, owner) in bound { owners.add(from: nil, to: owner, on: row.id) }
            if let begun = owners.begun(in: app, number: number) { _ = try session.execute(begun) }
            return
        }
        _ = try session.copyIn(ImportStatements.owners) { writer in
            for (row, owner) in bound {
                try writer.write(
                    app.rawValue, owner.userID.rawValue, row.id.rawValue, owner.session?.id.rawValue, number)
            }
        }
    }

    private func copyEvents(_ chosen: Chosen, at position: Int64, _ session: PostgresSession) throws {
        let (time, generation) = (chosen.moment.time.postgres, Installation.firstGeneration(chosen.moment.number))
        _ = try session.copyIn(ImportStatements.events) { writer in
            for row in chosen.rows {
                func write(_ event: EventKind, before: Int64, topics: [String]?) throws {
                    try writer.write(
                        position, time, app.rawValue, row.id.rawValue, event.rawValue, ImportStatements.reason,
                        ImportStatements.actor, row.installation.token.provider.rawValue, row.tokenSHA256,
                        row.installation.userID?.rawValue, InstallationState.active.rawValue, before, generation,
                        topics)
                }
                try write(.imported, before: 0, topics: nil)
                guard !row.installation.topicChoices.isEmpty else { continue }
                try write(.topicsChanged, before: generation, topics: slugs(of: row.installation.topicChoices))
            }
        }
    }

    private func slugs(of choices: TopicChoices) -> [String] {
        choices.codes.compactMap { topics[TopicNumber(abs($0))]?.slug }.sorted().map(\.rawValue)
    }

    private func delta(of chosen: Chosen) -> RollUpDelta {
        var delta = RollUpDelta()
        for row in chosen.rows {
            delta.addActive(
                in: row.cell, expiringAt: row.installation.session?.expiresAt, topics: chosen.topics(of: row))
        }
        return delta
    }
}

extension PostgresSession {
    fileprivate func copy(
        _ rows: [ImportedRow], _ statement: PostgresStatement, _ bind: (ImportedRow, inout PostgresBinds) -> Void
    ) throws {
        _ = try copyIn(statement) { writer in
            for row in rows { try writer.write { bind(row, &$0) } }
        }
    }
}

extension Array {
    /// The first element of each key, in the array's order.
    fileprivate func firsts<Key: Hashable>(_ key: (Element) -> Key) -> [Element] {
        var seen: Set<Key> = []
        return filter { seen.insert(key($0)).inserted }
    }
}
