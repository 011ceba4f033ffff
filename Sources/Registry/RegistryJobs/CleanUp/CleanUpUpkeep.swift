import PostgresClient
import PushRegistry
import RegistryStore

/// The night job's work besides installations: it deletes old logouts, tokens without a holder, former owners, expired
/// typed tokens and notifications, old counts of dead verdicts, old entries of the audit, choices about deleted topics
/// and unused cells of the roll-up.
struct CleanUpUpkeep {
    let session: PostgresSession
    let nodes: CleanUpNodes
    /// The time up to which the tombstones of each app are forgotten.
    private let apps: [(app: AppNumber, since: Timestamp)]
    private let asOf: Timestamp

    init(session: PostgresSession, nodes: CleanUpNodes, _ plan: CleanUpPlan) {
        self.session = session
        self.nodes = nodes
        apps = plan.admitted.map { ($0.app, $0.bounds.loggedOutSince) }
        asOf = plan.asOf
    }

    /// Logouts and users that would be forgotten.
    func countTombstones() throws -> Int {
        try OldRows.tombstones.reduce(0) { sum, rows in
            let count = rows.count(before: apps.map { ($0.app, $0.since) })
            return sum + (try session.execute(count.unprepared())[0].decode(0) as Int)
        }
    }

    /// Typed tokens of each app that would be deleted.
    func countTypedTokens() throws -> [AppNumber: Int] {
        try apps.reduce(into: [:]) { counts, app in
            let count = OldRows.typedTokens.count(before: [(app.app, asOf)])
            counts[app.app] = try session.execute(count.unprepared())[0].decode(0) as Int
        }
    }

    /// - Parameters:
    ///   - forgotten: called with how many logouts and users were forgotten.
    ///   - expired: called with how many typed tokens of an app were deleted.
    func purge(_ forgotten: (Int) throws -> Void, _ expired: (AppNumber, Int) throws -> Void) throws {
        for rows in OldRows.tombstones { try rows.purge(before: apps, in: session, nodes) { try forgotten($1) } }
        try OldRows.holders.purge(before: apps, in: session, nodes)
        try OldRows.typedTokens.purge(before: apps.map { ($0.app, asOf) }, in: session, nodes, expired)
        for rows in OldRows.notifications + [OldRows.feedbackHours] {
            try rows.purge(before: apps.map { ($0.app, asOf) }, in: session, nodes)
        }
        try DeletedTopics(session: session, nodes: nodes).remove()
    }

    /// Deletes old entries of the audit, of all apps and of none.
    func purgeAudit(before time: Timestamp) throws {
        var (pace, deleted) = (try CleanUpPace(session), 0)
        repeat {
            let batch = AuditStatements.delete(time.postgres, Int64(pace.batch))
            deleted = try pace.run { try session.execute(batch).affectedRows }
        } while deleted > 0
    }

    /// Forgets the former owners who left before the first event that is kept: an erasure finds a user's events and
    /// digests by these rows.
    func purgeOwners(historyBefore: Timestamp) throws {
        let last = Timestamp(microseconds: historyBefore.microseconds - 1)
        try OldRows.owners.purge(before: apps.map { ($0.app, last) }, in: session, nodes)
    }
}
