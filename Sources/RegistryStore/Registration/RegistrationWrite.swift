import PostgresClient
import PushRegistry

/// What a transaction writes once the rules have decided: the statements that there is something for, in the order in
/// which the unique index lets them through.
struct RegistrationWrite {
    private var released: [Installation] = []
    private var replaced: [Installation] = []
    private var touched: [Installation] = []
    private var refreshed: [InstallationRow] = []
    private var updated: [InstallationRow] = []
    private var inserted: [InstallationRow] = []
    private let events: [TokenEvent]
    /// Those that the statements of the rows do not append themselves.
    private var newSnapshots: Set<InstallationKey>

    init(_ batch: [PendingRegistration], _ locked: LockedInstallations) {
        events = locked.events
        newSnapshots = Set(locked.newSnapshots)
        let pending = Dictionary(uniqueKeysWithValues: batch.map { ($0.registration.key, $0) })
        let claimed = Set(batch.map(\.registration.address))
        for (before, after) in locked.changed {
            if let old = before?.address, old != after.address, claimed.contains(old) { released.append(after) }
            if let pending = pending[after.key], locked.isRewritten(after.key) {
                append(InstallationRow(after, pending), replacing: before)
            } else if let before {
                append(after, unlike: before)
            }
        }
    }

    private mutating func append(_ row: InstallationRow, replacing before: Installation?) {
        guard let before else {
            newSnapshots.remove(row.installation.key)
            return inserted.append(row)
        }
        guard row.installation.isBound(exactlyAs: before), newSnapshots.remove(before.key) != nil else {
            return updated.append(row)
        }
        refreshed.append(row)
    }

    /// An installation whose snapshot stays.
    private mutating func append(_ after: Installation, unlike before: Installation) {
        if after.probablyReplacedBy != before.probablyReplacedBy { replaced.append(after) }
        if after.lastSeenAt != before.lastSeenAt { touched.append(after) }
    }

    var statements: [PostgresStatement] {
        var statements: [PostgresStatement] = []
        if !released.isEmpty { statements.append(release) }
        if !replaced.isEmpty { statements.append(markReplaced) }
        if !touched.isEmpty { statements.append(touch) }
        if !refreshed.isEmpty {
            statements.append(InstallationRow.sightStatement(RegistrationStatements.updateSnapshots, refreshed))
        }
        if !updated.isEmpty {
            statements.append(InstallationRow.statement(RegistrationStatements.update, updated))
        }
        if !inserted.isEmpty {
            statements.append(InstallationRow.statement(RegistrationStatements.insert, inserted))
        }
        if !events.isEmpty {
            statements.append(TokenEvent.batch.statement(RegistrationStatements.appendEvents, events))
        }
        if !newSnapshots.isEmpty { statements.append(appendSnapshots) }
        return statements
    }

    private var release: PostgresStatement {
        PostgresStatement(
            RegistrationStatements.release, released.map(\.key.app.rawValue), released.map(\.key.installID.rawValue),
            released.map(\.generation), released.map(\.stateChangedAt.postgres))
    }

    private var markReplaced: PostgresStatement {
        PostgresStatement(
            RegistrationStatements.markReplaced, replaced.map(\.key.app.rawValue),
            replaced.map(\.key.installID.rawValue), replaced.map { $0.probablyReplacedBy?.rawValue })
    }

    private var touch: PostgresStatement {
        PostgresStatement(
            RegistrationStatements.touch, touched.map(\.key.app.rawValue), touched.map(\.key.installID.rawValue),
            touched.map(\.lastSeenAt.postgres))
    }

    private var appendSnapshots: PostgresStatement {
        PostgresStatement(
            RegistrationStatements.appendSnapshots, newSnapshots.map(\.app.rawValue),
            newSnapshots.map(\.installID.rawValue))
    }
}

extension Installation {
    /// Whether two states of an installation differ in their snapshots and sights alone.
    fileprivate func isBound(exactlyAs other: Installation) -> Bool {
        var same = other
        (same.lastSeenAt, same.snapshotDigest, same.lineage) = (lastSeenAt, snapshotDigest, lineage)
        return same == self
    }
}

extension InstallationRow {
    fileprivate init(_ installation: Installation, _ pending: PendingRegistration) {
        self.installation = installation
        // A token that the same batch moved on is not this row's any more.
        token = installation.tokenSHA256 == nil ? nil : pending.registration.token
        registrationDigest = pending.digest
        snapshot = pending.registration.snapshot
    }
}
