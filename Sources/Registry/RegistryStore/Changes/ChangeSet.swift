import Metrics
import PostgresClient
import PushRegistry

/// What a transaction changes about installations of one app, as the rules have decided it: each installation before
/// and after, and the events. The rows of all tables follow from these; no statement decides.
///
/// A transaction that has locked the installations and their tokens sends `statements` with its commit. One that has
/// read them without a lock sends `rows` first, which write only rows that still have the revisions that were read, and
/// goes on if `rows` have written all of them (`check`).
package struct ChangeSet: Sendable {
    let app: AppNumber
    /// When bindings and sessions end.
    let time: Timestamp
    package private(set) var events: [TokenEvent] = []
    private(set) var topicsEvents: [TopicsEvent] = []

    /// In lock order, if changes were added in this order.
    private var steps: [InstallationStep] = []
    private var bound: [BindingRow] = []
    /// Those of `bound` that have another snapshot.
    private var newSnapshots: [BindingRow] = []
    private var inserted: [BindingRow] = []
    private var deleted: [StoredInstallation] = []
    /// Installations whose epoch of notifications has ended.
    private var restarted: [InstallID] = []
    /// The new holder of each token; nil for none.
    private var holders: [TokenAddress: InstallID?] = [:]
    private var owners = OwnerChanges()
    /// The installations whose typed tokens of these kinds end.
    private var ended: [[TokenKind]: [InstallID]] = [:]
    private var tokens: [LockedTokens.Change] = []
    /// The installations whose typed tokens, if they have any, count elsewhere afterwards.
    private var recounted: Set<InstallID> = []
    /// The sessions that have left installations.
    private var left: [(id: SessionID, userID: UserID)] = []
    private var delta = RollUpDelta()
    private var tombstones: [Tombstones.OnInstallation] = []

    package init(in app: AppNumber, at time: Timestamp) {
        (self.app, self.time) = (app, time)
    }

    /// An installation that keeps its snapshot, and its token, owner and session unless it loses them.
    ///
    /// - Parameter changesTokens: whether its set of typed tokens changes otherwise than by a registration. The next
    ///   registration that brings a set is compared with it.
    package mutating func change(
        _ before: StoredInstallation, to after: Installation, changingTokens changesTokens: Bool = false
    ) {
        steps.append(InstallationStep(before: before, after: after, changesTokens: changesTokens))
        follow(from: before.installation, in: before.cell, to: after, in: before.cell)
    }

    /// Writes typed tokens of installations that are locked. Those that end with a binding are deleted before.
    package mutating func write(_ tokens: [LockedTokens.Change]) {
        self.tokens += tokens
        recounted.formUnion(tokens.map(\.key.installID))
    }

    /// The installation after its registration.
    ///
    /// - Parameters:
    ///   - before: nil: it is new.
    ///   - cell: the cell of the roll-up that counts it.
    ///   - digest: as the row stores it.
    mutating func register(
        _ before: StoredInstallation?, as after: Installation, by pending: PendingRegistration, in cell: Int64,
        storing digest: [UInt8]
    ) {
        let row = BindingRow(before: before, installation: after, pending: pending, cell: cell, digest: digest)
        if let before {
            bound.append(row)
            if before.installation.snapshotDigest != after.snapshotDigest { newSnapshots.append(row) }
        } else {
            inserted.append(row)
        }
        follow(from: before?.installation, in: before?.cell ?? cell, to: after, in: cell)
    }

    /// Its history stays.
    package mutating func delete(_ before: StoredInstallation) {
        deleted.append(before)
        follow(from: before.installation, in: before.cell, to: nil, in: before.cell)
    }

    private mutating func follow(
        from before: Installation?, in oldCell: Int64, to after: Installation?, in cell: Int64
    ) {
        guard let installID = (after ?? before)?.key.installID else { return }
        if let before {
            delta.add(before, in: oldCell, step: -1)
            if before.epoch != after?.epoch { restarted.append(installID) }
            let kinds = Installation.endedKinds(from: before, to: after)
            if !kinds.isEmpty { ended[kinds, default: []].append(installID) }
            let movesTokens =
                !kinds.isEmpty || oldCell != cell || before.state != after?.state
                || before.owner?.session?.expiresAt != after?.owner?.session?.expiresAt
            if movesTokens, before.mayHaveTypedTokens { recounted.insert(installID) }
        }
        if let after { delta.add(after, in: cell, step: 1) }
        owners.add(from: before?.owner, to: after?.owner, on: installID)
        if let owner = before?.owner, let session = owner.session, after?.owner?.isSame(as: owner) != true {
            left.append((session.id, owner.userID))
        }
        guard before?.address != after?.address else { return }
        if let old = before?.address, holders[old] == nil { holders[old] = .some(nil) }
        if let new = after?.address { holders[new] = installID }
    }

    package mutating func record(_ events: [TokenEvent], _ topicsEvents: [TopicsEvent] = []) {
        self.events += events
        self.topicsEvents += topicsEvents
    }

    /// The end of a binding, and the choices about topics that end with it.
    package mutating func record(
        _ end: TokenEvent, ending before: Installation, _ after: Installation, in catalogue: TopicCatalogue
    ) {
        events.append(end)
        guard after.topicChoices.isEmpty else { return }
        if let reset = TopicsEvent(end, ending: before.topicChoices, in: catalogue) { topicsEvents.append(reset) }
    }

    mutating func remember(_ tombstones: [Tombstones.OnInstallation]) {
        self.tombstones += tombstones
    }

    /// The transaction has added these tokens with these holders. A registration may have been refused since.
    mutating func hold(_ added: [TokenAddress: InstallID]) {
        for (token, holder) in added {
            holders[token] = holders[token] == .some(holder) ? nil : holders[token] ?? .some(nil)
        }
    }
}

// MARK: - Statements

extension ChangeSet {
    /// The writes of installations.
    package var rows: [PostgresStatement] {
        // Rows are locked in the order of their keys.
        let inserted = inserted.sorted { $0.installation.key < $1.installation.key }
        let replaced = newSnapshots.compactMap { $0.before.map { ($0.installation.key.installID, $0.revision) } }
        return [
            subtracted.isEmpty ? nil : RollUpDeltaStatements.tokens(of: subtracted, step: -1, in: app),
            InstallationStep.layout.statement(ChangeStatements.step, steps, of: app),
            deleted.isEmpty
                ? nil
                : ChangeStatements.delete(
                    app.rawValue, deleted.map(\.installation.key.installID.rawValue), deleted.map(\.revision)),
            replaced.isEmpty ? nil : SnapshotStatements.keep(replaced, in: app, at: time),
            BindingRow.layout.statement(ChangeStatements.bind, bound, of: app),
            BindingRow.ofSnapshot.statement(ChangeStatements.snap, newSnapshots, of: app, at: time),
            BindingRow.inserted.statement(ChangeStatements.insert, inserted, of: app, at: time),
        ].compactMap(\.self)
    }

    /// A new installation has none: a row of its id that is still there is another transaction's to subtract.
    private var subtracted: [InstallID] {
        recounted.isEmpty ? [] : Array(recounted.subtracting(inserted.map(\.installation.key.installID)))
    }

    /// Without locks, a transaction makes only steps or only deletions.
    ///
    /// - Parameter results: of `rows`.
    /// - Throws: `LostRace` if another transaction has changed an installation since it was read.
    package func check(_ results: some Sequence<PostgresResult>) throws {
        let written = results.dropFirst(subtracted.isEmpty ? 0 : 1).reduce(0) { $0 + $1.affectedRows }
        guard written == steps.count + deleted.count else { throw LostRace() }
    }

    /// What `others` delete of deleted installations: the index of each result.
    enum Deleted {
        static let snapshots = 0
        static let notifications = 1 + EndedEpochs.waitingIndex
    }

    /// All but the writes of installations.
    ///
    /// - Parameter moment: read when the installations were locked or written.
    package func others(at moment: Moment) -> [PostgresStatement] {
        let ids = deleted.map(\.installation.key.installID)
        return (ids.isEmpty ? [] : [SnapshotStatements.delete(app.rawValue, ids.map(\.rawValue))])
            + EndedEpochs.statements(of: restarted, in: app)
            + ended.map { TypedTokenStatements.end(app.rawValue, $1.map(\.rawValue), $0.map(\.rawValue)) }
            + TypedTokenStatements.write(tokens, in: app)
            + [
                holders.isEmpty ? nil : HolderStatements.move(holders.map { ($0, $1) }, in: app),
                owners.ended(in: app, at: time), owners.begun(in: app, number: moment.number),
                delta.statement(in: app),
                recounted.isEmpty ? nil : RollUpDeltaStatements.tokens(of: Array(recounted), step: 1, in: app),
                left.isEmpty ? nil : GuardStatements.leave(left, in: app, at: moment),
                tombstones.isEmpty ? nil : GuardStatements.remember(tombstones, in: app, at: time),
                EventStatements.append(events, topicsEvents, in: app, at: moment),
                inserted.isEmpty
                    ? nil
                    : RegistrationStatements.checkOrder(
                        of: inserted.map(\.installation.key.installID.rawValue), in: app, at: moment,
                        writing: moment.eventIDs),
            ].compactMap(\.self)
    }
}

extension PostgresTransaction {
    /// Writes changes whose installations and tokens it has locked, and commits.
    @discardableResult
    func commit(_ changes: ChangeSet, at moment: Moment, after first: [PostgresStatement] = []) async throws
        -> [PostgresResult]
    {
        let results = try await commit(after: first + changes.rows + changes.others(at: moment))
        EventMeters.count(changes.events, changes.topicsEvents)
        return results
    }
}

/// Counts the events that this process wrote, by kind and reason. The rules define both, so there are few series.
enum EventMeters {
    private struct Change: Hashable {
        let kind: EventKind
        let reason: TokenEvent.Reason
    }

    /// Call it once the events are committed.
    static func count(_ events: [TokenEvent], _ topicsEvents: [TopicsEvent] = []) {
        var counts: [Change: Int] = [:]
        for event in events { counts[Change(kind: event.kind, reason: event.reason), default: 0] += 1 }
        for event in topicsEvents { counts[Change(kind: .topicsChanged, reason: event.reason), default: 0] += 1 }
        for (change, times) in counts {
            Counter(
                label: "changes_total",
                dimensions: [("event", change.kind.rawValue), ("reason", change.reason.rawValue)]
            ).increment(by: times)
        }
    }

    /// Counts typed tokens that verdicts removed, which have no events. Call it once they are committed.
    static func count(removed tokens: [TokenKind: Int]) {
        for (kind, times) in tokens {
            Counter(label: "typed_tokens_removed_total", dimensions: [("kind", kind.rawValue)])
                .increment(by: times)
        }
    }
}
