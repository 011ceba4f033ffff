import PostgresClient
import PushRegistry

/// The night job's work besides installations: it deletes old logouts, tokens without a holder, former owners, changes
/// that cannot be undone any more, expired notifications and choices about deleted topics, and folds the roll-up.
struct CleanUpUpkeep {
    let session: PostgresSession
    let nodes: CleanUpNodes
    /// The time up to which the tombstones of each app are forgotten.
    private let apps: [(app: AppNumber, since: Timestamp)]
    private let asOf: Timestamp

    /// Pages of small rows that one statement reads.
    private static let pagesPerRead: Int64 = 1_024

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

    /// - Parameter forgotten: called with how many logouts and users were forgotten.
    func purge(_ forgotten: (Int) throws -> Void) throws {
        for rows in OldRows.tombstones { try purge(rows, before: apps, forgotten) }
        for rows in [OldRows.holders, .changes] { try purge(rows, before: apps) { _ in } }
        for rows in OldRows.notifications { try purge(rows, before: apps.map { ($0.app, asOf) }) { _ in } }
        try DeletedTopics(session: session, nodes: nodes).remove()
    }

    /// Forgets the former owners who left before the first event that is kept: an erasure finds a user's events and
    /// digests by these rows.
    func purgeOwners(historyBefore: Timestamp) throws {
        let last = Timestamp(microseconds: historyBefore.microseconds - 1)
        try purge(.owners, before: apps.map { ($0.app, last) }) { _ in }
    }

    /// Rows that another transaction has locked wait for the next night.
    private func purge(
        _ rows: OldRows, before bounds: [(app: AppNumber, since: Timestamp)], _ removed: (Int) throws -> Void
    ) throws {
        let since = Dictionary(uniqueKeysWithValues: bounds.map { ($0.app, $0.since) })
        var pace = try CleanUpPace(session)
        for range in try PageRange.all(of: rows.table, by: Self.pagesPerRead, session, nodes) {
            try nodes.with(range.apps) {
                let found = try pace.run { try read(rows, range, bounds) }
                for (app, keys) in found {
                    guard let since = since[app] else { continue }
                    var rest = keys[...]
                    while !rest.isEmpty {
                        let batch = rest.prefix(pace.batch)
                        rest = rest.dropFirst(batch.count)
                        let count = try pace.run { try purge(rows, Array(batch), of: app, before: since) }
                        if count > 0 { try removed(count) }
                    }
                }
            }
        }
    }

    private func read(
        _ rows: OldRows, _ range: PageRange, _ bounds: [(app: AppNumber, since: Timestamp)]
    ) throws -> [AppNumber: [OldRows.Key]] {
        var keys: [AppNumber: [OldRows.Key]] = [:]
        for row in try session.execute(rows.read(range, before: bounds).unprepared()) {
            keys[AppNumber(try row.decode(0)), default: []].append(try rows.decode(row, from: 1))
        }
        return keys
    }

    /// Locks a row, then checks again whether it is old: a registration that held the lock may have bound an
    /// installation under it, and the statement that waits for the lock would not see that. A later registration does
    /// not find the row and adds it again.
    private func purge(
        _ rows: OldRows, _ keys: [OldRows.Key], of app: AppNumber, before since: Timestamp
    ) throws -> Int {
        try session.withTransaction(attemptsMax: 5) {
            // Installations are locked before their owners.
            if let forget = try rows.forget(keys, in: app) { _ = try session.execute(forget) }
            let locked = try session.execute(rows.lock(keys, of: app, before: since)).map { try rows.decode($0) }
            guard !locked.isEmpty else { return 0 }
            return try session.execute(rows.delete(locked, of: app, before: since)).affectedRows
        }
    }

    /// Folds the deltas that the run appended and that no service has folded.
    func foldRollUp() throws {
        try session.execute(RollUpStatements.allApps).forEachApp { app in
            _ = try nodes.with([app]) { try RollUpFold.runAll(app, in: session) }
        }
    }
}

extension PostgresResult {
    /// Runs `body` for the app of each row, also if it failed for an earlier one.
    ///
    /// - Throws: the first failure, at the end; a cancellation at once.
    func forEachApp(_ body: (AppNumber) throws -> Void) throws {
        var failure: (any Error)?
        for row in self {
            do {
                try body(AppNumber(try row.decode(0)))
            } catch let error as PostgresError where error.kind == .cancelled {
                throw error
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
    }
}
