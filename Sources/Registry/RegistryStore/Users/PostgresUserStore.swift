import Crypto
import PostgresClient
import PushRegistry
import Receipts

/// Users in PostgreSQL. Each event loop has one store.
public struct PostgresUserStore: UserStore {
    /// How often a transaction is tried if it loses races.
    private static let attemptsMax = 20
    /// The same for one installation: another client may take its token each time.
    private static let contendedAttemptsMax = 100
    /// The most installations of one transaction. A user with more of them, such as the user of kiosks, needs several
    /// transactions: the first one prevents new bindings.
    static let installationsPerTransaction: Int64 = 1_000

    let resources: LoopResources
    private let logouts: WriteCoalescer<Logout>

    public init(_ resources: LoopResources) {
        self.resources = resources
        logouts = WriteCoalescer(resources, meters: WriteMeters("logout"), transaction: Logout.write)
    }

    /// Sends queued logouts of installations until it is cancelled.
    public func run() async {
        await logouts.run()
    }

    public func logOut(_ logout: Logout) async throws -> (status: Logout.Status, generation: Int64?) {
        let outcome = try await logouts.write(logout)
        return (outcome.status, outcome.generation)
    }

    public func end(_ end: SessionEnd) async throws -> Int {
        try await batches(in: end.app) { after in
            try await transaction { try await endBatch(end, after: after, $0) }
        }.reduce(0, +)
    }

    public func erase(_ erasure: Erasure) async throws -> Erasure.Receipt {
        let batches = try await batches(in: erasure.app) { after in
            // A token that moves between its look-up and its lock starts the transaction over. The fewer installations
            // it concerns, the fewer tokens can move.
            for limit in [Self.installationsPerTransaction, 20] {
                do {
                    return try await transaction(attemptsMax: 3) {
                        try await eraseBatch(erasure, after: after, limit: limit, $0)
                    }
                } catch is LostRace {
                    continue
                }
            }
            return try await transaction(attemptsMax: Self.contendedAttemptsMax) {
                try await eraseBatch(erasure, after: after, limit: 1, $0)
            }
        }
        return Erasure.Receipt(
            installations: batches.reduce(0) { $0 + $1.installations },
            snapshots: batches.reduce(0) { $0 + $1.snapshots }, events: batches.reduce(0) { $0 + $1.events },
            topics: batches.reduce(0) { $0 + $1.topics }, receipts: batches.reduce(0) { $0 + $1.receipts },
            targets: batches.reduce(0) { $0 + $1.targets }, notifications: batches.reduce(0) { $0 + $1.notifications },
            erasedAt: batches[0].erasedAt)
    }

    public func installations(
        of users: [UserID], in app: AppNumber, after: InstallID?, limit: Int
    ) async throws -> InstallationPage {
        try await resources.storing(app) {
            // The tokens first: of an installation that gets another owner in between, none of the new one are shown.
            let results = try await resources.postgres.read(
                [UserStatements.tokensOfList, UserStatements.list].map {
                    $0(app.rawValue, users.map(\.rawValue), after?.rawValue ?? "", Int64(limit) + 1)
                })
            let tokens = Dictionary(
                grouping: try results[0].map { try TypedTokenStatements.decode($0, in: app) }, by: \.holder.installID)
            let rows = results[1]
            let page = try rows.prefix(limit).map { row in
                try InstallationRecord(row, tokens: tokens[try InstallID(row.decode(1))]?.map(\.token) ?? [])
            }
            return InstallationPage(
                installations: page, next: rows.count > limit ? page.last?.installation.key.installID : nil)
        }
    }
}

// MARK: - Transactions

extension PostgresUserStore {
    /// The result of one transaction, and where the next one continues; nil at the end.
    private typealias Batch<Value> = (value: Value, next: Continuation?)

    private struct Continuation {
        /// The last installation.
        let installID: String
        /// Of the first transaction: a user may have signed in since.
        let number: Int64
    }

    /// Runs transactions until there is nothing left, each in a turn of its own. Every error is thrown as a
    /// `StoreError`; if the call is repeated, it continues where this one ended.
    private func batches<Value: Sendable>(
        in app: AppNumber, _ body: (Continuation?) async throws -> Batch<Value>
    ) async throws -> [Value] {
        try await resources.storing(app) {
            var values: [Value] = []
            var next: Continuation?
            repeat {
                let batch = try await resources.lone.withTurn(of: app) { [next] in try await body(next) }
                values.append(batch.value)
                next = batch.next
            } while next != nil
            return values
        }
    }

    private func transaction<Value>(
        attemptsMax: Int = Self.attemptsMax, _ body: (PostgresTransaction) async throws -> Value
    ) async throws -> Value {
        try await resources.postgres.withTransaction(attemptsMax: attemptsMax, body)
    }

    /// No binding can begin under these users and sessions until the transaction has ended. Only the first transaction
    /// locks and ends them.
    private func lock(_ end: SessionEnd) -> PostgresStatement {
        switch end.scope {
        case .session(let id): LockBuckets(sessions: [id.rawValue], in: end.app).exclusive
        case .user(let userID, _): LockBuckets(users: [UserDigest.sha256(userID)], in: end.app).exclusive
        }
    }

    /// Runs after the installations are locked (`GuardStatements.endSessionsOfBindings`).
    private func guards(_ end: SessionEnd) -> [PostgresStatement] {
        switch end.scope {
        case .session(let id):
            [GuardStatements.endSession(end.app.rawValue, id.rawValue)]
        case .user(let userID, let kept):
            guards(of: userID, in: end.app, except: kept)
        }
    }

    private func guards(of userID: UserID, in app: AppNumber, except kept: SessionID?) -> [PostgresStatement] {
        let digest = UserDigest.sha256(userID)
        let sessions = GuardStatements.endSessionsOfBindings(app.rawValue, userID.rawValue, kept?.rawValue)
        let refuse = GuardStatements.refuseUser(app.rawValue, digest)
        guard let kept = kept?.rawValue else { return [sessions, refuse] }
        return [
            sessions, GuardStatements.endExceptedSession(app.rawValue, digest, kept), refuse,
            GuardStatements.keepSession(app.rawValue, digest, kept),
        ]
    }

    private func endBatch(
        _ end: SessionEnd, after: Continuation?, _ transaction: PostgresTransaction
    ) async throws -> Batch<Int> {
        let (app, limit) = (end.app.rawValue, Self.installationsPerTransaction)
        let page =
            switch end.scope {
            case .session(let id):
                UserStatements.lockOfSession(app, id.rawValue, after?.installID ?? "", limit)
            case .user(let userID, _):
                UserStatements.lockOfUser(app, userID.rawValue, after?.installID ?? "", limit, after?.number ?? .max)
            }
        let isFirst = after == nil
        let first = isFirst ? [lock(end), RollUpStatements.find(app)] : []
        let results = try await transaction.execute(
            first + [page] + (isFirst ? guards(end) : []) + [RegistrationStatements.now()], .alone)
        if isFirst, results[1].isEmpty { throw AppIsBeingDeleted() }
        let moment = try Moment(results[results.count - 1])
        let locked = try LockedPage(results[first.count], limit: limit)
        var changes = ChangeSet(in: end.app, at: moment.time)
        for before in locked.installations {
            guard let outcome = end.outcome(for: before.installation, at: moment.time) else { continue }
            changes.change(before, to: outcome.after)
            changes.record(outcome.event, ending: before.installation, outcome.after, in: end.catalogue)
        }
        try await transaction.commit(changes, at: moment)
        let number = after?.number ?? moment.number
        return (changes.events.count, locked.last.map { Continuation(installID: $0, number: number) })
    }

    private func eraseBatch(
        _ erasure: Erasure, after: Continuation?, limit: Int64, _ transaction: PostgresTransaction
    ) async throws -> Batch<Erasure.Receipt> {
        let (app, userID) = (erasure.app.rawValue, erasure.userID.rawValue)
        let registrant = UserDigest.registrant(UserDigest.sha256(erasure.userID))
        let isFirst = after == nil
        let lock = LockBuckets(users: [UserDigest.sha256(erasure.userID)], in: erasure.app).exclusive
        let first = isFirst ? [lock, RollUpStatements.find(app)] : []
        let found = try await transaction.execute(
            first + [UserStatements.seenWithUser(app, userID, after?.installID ?? "", limit)], .alone)
        if isFirst, found[1].isEmpty { throw AppIsBeingDeleted() }
        let seen = try found[first.count].map { try InstallID($0.decode(0)) }
        let ids = seen.map(\.rawValue)
        let results = try await transaction.execute(
            [
                HolderStatements.lock(of: seen, in: erasure.app),
                InstallationStatements.lock(app, ids),
                // Again, under the locks.
                UserStatements.leftByUser(app, userID, registrant, ids),
            ]
                + (isFirst ? guards(of: erasure.userID, in: erasure.app, except: nil) : [])
                + [RegistrationStatements.now()])
        let moment = try Moment(results[results.count - 1])
        let stored = try results[2].map { try InstallationColumns.decode($0) }
        let locked = Set(try results[0].map { try $0.decode(1, as: [UInt8].self) })
        guard stored.compactMap(\.installation.tokenSHA256).allSatisfy(locked.contains) else { throw LostRace() }
        let removal = ErasureBatch(
            erasure, stored, seen: seen, registrant: registrant, isFirst: isFirst, at: moment.time)
        let removed = try await transaction.commit(removal.changes, at: moment, after: removal.statements)
        let isLast = seen.count < Int(limit)
        let next = isLast ? nil : seen.last.map { Continuation(installID: $0.rawValue, number: moment.number) }
        return (try removal.receipt(removed), next)
    }
}

/// The writes of one transaction of an erasure.
private struct ErasureBatch {
    let erasure: Erasure
    let stored: [StoredInstallation]
    let seen: [InstallID]
    let registrant: Int64
    /// Whether it is the erasure's first transaction, which has the user's lock and also removes data that concerns
    /// no installation.
    let isFirst: Bool
    let changes: ChangeSet

    init(
        _ erasure: Erasure, _ stored: [StoredInstallation], seen: [InstallID], registrant: Int64, isFirst: Bool,
        at time: Timestamp
    ) {
        (self.erasure, self.stored, self.seen) = (erasure, stored, seen)
        (self.registrant, self.isFirst) = (registrant, isFirst)
        var changes = ChangeSet(in: erasure.app, at: time)
        for removed in stored {
            changes.delete(removed)
            changes.record([erasure.event(removing: removed.installation, at: time)])
        }
        self.changes = changes
    }

    /// What is not of the deleted installations alone. They run before the changes.
    var statements: [PostgresStatement] { snapshotsAndEvents + choices + receipts + names }

    private var snapshotsAndEvents: [PostgresStatement] {
        let (app, ids) = (erasure.app.rawValue, seen.map(\.rawValue))
        return [
            SnapshotStatements.deleteOfRegistrant(app, registrant, ids),
            UserStatements.anonymizeEvents(app, erasure.userID.rawValue, ids),
        ]
    }

    /// The user's choices about topics, and the events of these choices.
    private var choices: [PostgresStatement] {
        guard isFirst else { return [] }
        return [
            TopicChoiceStatements.eraseOfUser(erasure.app.rawValue, UserDigest.sha256(erasure.userID)),
            TopicChoiceStatements.eraseEvents(erasure.app.rawValue, erasure.userID.rawValue),
        ]
    }

    /// The receipts of the deleted installations, and the targets of the user.
    private var receipts: [PostgresStatement] {
        let app = erasure.app.rawValue
        let hasher = InstallationHasher(erasure.identityKey)
        let hashes = stored.map { hasher.hash($0.installation.key.installID).rawValue }
        return [
            hashes.isEmpty ? nil : ReceiptStatements.eraseInstallations(app, hashes),
            isFirst ? ReceiptStatements.eraseUser(app, erasure.userID.rawValue) : nil,
        ].compactMap(\.self)
    }

    /// The user's names in rows that stay.
    private var names: [PostgresStatement] {
        let (app, ids) = (erasure.app.rawValue, seen.map(\.rawValue))
        return [
            UserStatements.forgetRegistrant(app, registrant, stays),
            UserStatements.deleteOwners(app, erasure.userID.rawValue, ids),
        ]
    }

    /// The revisions of the others must not grow before they are deleted.
    private var stays: [String] {
        let removed = Set(stored.map(\.installation.key.installID))
        return seen.filter { !removed.contains($0) }.map(\.rawValue)
    }

    /// - Parameter results: of `statements`, then of the changes. A deleted installation has its present snapshot in
    ///   its own row.
    func receipt(_ results: [PostgresResult]) throws -> Erasure.Receipt {
        let choicesStart = snapshotsAndEvents.count
        let receiptsStart = choicesStart + choices.count
        let erased = results[receiptsStart..<receiptsStart + receipts.count]
        let deleted = results[(statements.count + changes.rows.count)...]
        func count(_ index: Int) -> Int {
            stored.isEmpty ? 0 : deleted[deleted.startIndex + index].affectedRows
        }
        let own = stored.reduce(0) { $0 + $1.installation.topicChoices.count }
        return Erasure.Receipt(
            installations: stored.count,
            snapshots: stored.count + results[0].affectedRows + count(ChangeSet.Deleted.snapshots),
            events: results[1].affectedRows + (isFirst ? results[choicesStart + 1].affectedRows : 0),
            topics: own + (isFirst ? Int(try results[choicesStart][0].decode(0, as: Int64.self)) : 0),
            receipts: try erased.reduce(0) { $0 + (try $1[0].decode(0) as Int) },
            targets: try erased.reduce(0) { $0 + (try $1[0].decode(1) as Int) },
            notifications: count(ChangeSet.Deleted.notifications), erasedAt: changes.time)
    }
}

extension Logout: BatchedWrite {
    typealias Outcome = Decision

    var app: AppNumber { key.app }
}

extension Logout {
    /// Writes a batch of logouts of single installations, all of one app (R6, R15).
    static func write(
        _ logouts: [Logout], _ patience: LockPatience, _ transaction: PostgresTransaction
    ) async throws -> [Result<Decision, any Error>] {
        let (app, ids) = (logouts[0].app, logouts.map(\.key.installID.rawValue))
        let results = try await transaction.execute(
            [InstallationStatements.lock(app.rawValue, ids), RegistrationStatements.now()], patience)
        let moment = try Moment(results[1])
        let stored = try results[0].map { try InstallationColumns.decode($0) }
        let present = Dictionary(uniqueKeysWithValues: stored.map { ($0.installation.key, $0) })
        let decisions = logouts.map { logout in
            Result { () throws(Refusal) in
                try logout.decision(on: present[logout.key]?.installation, at: moment.time)
            }
        }
        let accepted = zip(logouts, decisions).compactMap { logout, decision in
            (try? decision.get()).map { (logout, $0) }
        }
        try await transaction.commit(changes(accepted, of: present, in: app, at: moment.time), at: moment)
        return decisions.map { decision in decision.mapError { $0 } }
    }

    private static func changes(
        _ decisions: [(Logout, Decision)], of present: [InstallationKey: StoredInstallation], in app: AppNumber,
        at time: Timestamp
    ) -> ChangeSet {
        var changes = ChangeSet(in: app, at: time)
        for (logout, decision) in decisions {
            changes.remember(decision.tombstones)
            guard let before = present[logout.key], decision.after != nil || decision.event != nil else { continue }
            // An event alone also raises the revision: another writer that has read the row without a lock notices.
            let after = decision.after ?? before.installation
            changes.change(before, to: after)
            guard let event = decision.event else { continue }
            changes.record(event, ending: before.installation, after, in: logout.catalogue)
        }
        return changes
    }
}
