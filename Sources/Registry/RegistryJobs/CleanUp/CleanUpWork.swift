import PostgresClient
import PushRegistry
import RegistryStore

/// A run that has its lock, its plan and its record.
struct CleanUpWork {
    let session: PostgresSession
    let nodes: CleanUpNodes
    let ledger: CleanUpLedger
    let run: Int32
    var cells = UnusedCells.Options()

    /// How often a batch is tried if it meets a locked row or loses a race.
    private static let attemptsMax = 5

    /// Installations of one app that make the same step, or for which it is undone, in the order in which they are
    /// locked.
    struct Batch {
        let app: AppNumber
        let step: CleanUpStep
        /// For the audit, if the step is undone.
        let undoing: AuditEntry?
        let rows: [DueInstallations.Key]

        init(
            app: AppNumber, step: CleanUpStep, undoing: AuditEntry? = nil, rows: some Sequence<DueInstallations.Key>
        ) {
            (self.app, self.step, self.undoing) = (app, step, undoing)
            self.rows = rows.sorted { $0.installID < $1.installID }
        }
    }

    /// Records the counts of the plan for each app.
    func begin(_ plan: CleanUpPlan) throws {
        for entry in plan.entries { try ledger.add(entry.result, of: entry.app, to: run) }
    }

    /// Comes first: the run's own events need the partition of the present month.
    func makePartitions() throws {
        try nodes.withHistory { try ledger.count(partitionsMade: Partitions.make(session), of: run) }
    }

    /// Writes the due installations, part by part.
    func retire(_ plan: CleanUpPlan, _ progress: (CleanUp.Progress) -> Void) throws {
        let bounds = CleanUpStatements.bounds(plan.admitted.map { ($0.app, $0.bounds) })
        var pace = try CleanUpPace(session)
        var done = 0
        for part in plan.parts {
            let due =
                switch part {
                case .due(let due): due
                case .pages(let range): try read(range, bounds, &pace)
                }
            try session.run(script: CleanUpStatements.writeSettings)
            for (app, step, keys) in due.byCell {
                try nodes.with([app]) {
                    var rest = keys[...]
                    while !rest.isEmpty {
                        progress(.retiring(done, of: plan.count))
                        let next = Batch(app: app, step: step, rows: rest.prefix(pace.batch))
                        rest = rest.dropFirst(next.rows.count)
                        try pace.run { try write(next) }
                        done += next.rows.count
                    }
                }
            }
            try session.run(script: CleanUpStatements.readSettings)
        }
    }

    /// Restores installations that became stale or unregistered during a run and have not changed since.
    func restore(from start: PostgresTimestamp, to end: PostgresTimestamp, recording entry: AuditEntry) throws {
        try session.run(script: CleanUpStatements.writeSettings)
        for range in try PageRange.all(of: "installation", by: CleanUp.Options().pagesPerRead, session, nodes) {
            try nodes.with(range.apps) {
                var due = DueBatches()
                due.add(try DueInstallations.ofRun(range, from: start, to: end, session))
                for (app, step, keys) in due.byCell {
                    for first in stride(from: 0, to: keys.count, by: Self.restoredMax) {
                        let rows = keys[first..<min(first + Self.restoredMax, keys.count)]
                        try write(Batch(app: app, step: step, undoing: entry, rows: rows))
                        try session.checkCancellation()
                    }
                }
            }
        }
    }

    private static let restoredMax = 1_000

    private func read(_ range: PageRange, _ bounds: PostgresSQL, _ pace: inout CleanUpPace) throws -> DueBatches {
        let found = try nodes.with(range.apps) {
            try pace.run { try DueInstallations.read(range, bounds, withKeys: true, session) }
        }
        var due = DueBatches()
        due.add(found ?? [])
        return due
    }

    /// Writes a batch. If another transaction keeps one of its rows locked, the other rows are written without it, and
    /// the next night finds it due.
    func write(_ batch: Batch) throws {
        for number in 1..<Self.attemptsMax {
            do {
                return try writeOnce(batch)
            } catch let error where error.isLostRace || error.isLockTimeout {
                try session.pause(for: .milliseconds(200 * number))
            }
        }
        try writeWhatIsFree(batch)
    }

    private func writeWhatIsFree(_ batch: Batch) throws {
        do {
            try writeOnce(batch)
        } catch let error where error.isLostRace || error.isLockTimeout {
            try session.checkCancellation()
            guard batch.rows.count > 1 else { return }
            for half in [batch.rows.prefix(batch.rows.count / 2), batch.rows.dropFirst(batch.rows.count / 2)] {
                try writeWhatIsFree(Batch(app: batch.app, step: batch.step, undoing: batch.undoing, rows: half))
            }
        }
    }

    private func writeOnce(_ batch: Batch) throws {
        let now: Timestamp = try session.execute(CleanUpStatements.now)[0].decode(0)
        try session.withTransaction {
            if nodes.isDistributed { try session.run(script: CleanUpStatements.batchSettingsOnCitus) }
            let installIDs = try batch.rows.map { try InstallID($0.installID) }
            if batch.step.releasesToken, batch.undoing == nil {
                _ = try session.execute(HolderStatements.lock(of: installIDs, in: batch.app))
            }
            let (app, ids) = (batch.app, batch.rows.map(\.installID))
            let (revisions, places) = (batch.rows.map(\.revision), batch.rows.map(\.place))
            let found = try session.execute(
                CleanUpStatements.batch(app.rawValue, ids, revisions, places)
            ).map { try InstallationColumns.decode($0) }
            guard !found.isEmpty else { return }
            let changes =
                try batch.undoing == nil
                ? changes(batch.step, of: found, in: app, at: now) : restored(batch.step, of: found, in: app, at: now)
            try changes.check(changes.rows.map { try session.execute($0) })
            let moment = try Moment(session.execute(RegistrationStatements.now()))
            let rest = changes.others(at: moment)
            for statement in rest { _ = try session.execute(statement) }
            guard let entry = batch.undoing else {
                _ = try session.execute(ledger.counting(found.count, batch.step, of: app, in: run))
                return
            }
            if try !changes.events.isEmpty && ledger.restored(by: run) == 0 {
                _ = try session.execute(AuditStatements.add(entry, of: nil))
            }
            _ = try session.execute(
                CleanUpLedgerStatements.countRestored(run, app.rawValue, Int64(changes.events.count)))
        }
    }

    private func changes(
        _ step: CleanUpStep, of found: [StoredInstallation], in app: AppNumber, at now: Timestamp
    ) throws -> ChangeSet {
        let endsChoices = step == .sessionEnded && found.contains { !$0.installation.topicChoices.isEmpty }
        let topics = endsChoices ? try catalogue(of: app) : TopicCatalogue()
        var changes = ChangeSet(in: app, at: now)
        for before in found {
            let (after, event) = step.outcome(for: before.installation, by: CleanUpStatements.actor, at: now)
            guard let after else {
                changes.delete(before)
                changes.record([event])
                continue
            }
            changes.change(before, to: after)
            changes.record(event, ending: before.installation, after, in: topics)
        }
        return changes
    }

    private func restored(
        _ step: CleanUpStep, of found: [StoredInstallation], in app: AppNumber, at now: Timestamp
    ) -> ChangeSet {
        var changes = ChangeSet(in: app, at: now)
        for before in found {
            guard let undone = step.undone(on: before.installation, by: CleanUpStatements.actor, at: now) else {
                continue
            }
            changes.change(before, to: undone.after)
            changes.record([undone.event])
        }
        return changes
    }

    /// Nothing is left once a run has found nothing.
    func readdress(_ progress: (CleanUp.Progress) -> Void) throws -> Readdressing.Counts {
        guard try !Readdressing.isOver(session) else { return Readdressing.Counts() }
        let counts = try Readdressing(session: session, nodes: nodes).run { progress(.readdressing($0, of: $1)) }
        if !nodes.hasFaults { try ledger.count(readdressed: counts.found, of: run) }
        return counts
    }

    private func catalogue(of app: AppNumber) throws -> TopicCatalogue {
        let rows = try session.execute(TopicCatalogueStatements.ofApp(app.rawValue))
        return try TopicCatalogue.byApp(rows)[app] ?? TopicCatalogue()
    }

    /// - Parameter historyBefore: older rows are deleted; nil: history stays.
    func keepUp(_ plan: CleanUpPlan, historyBefore: Timestamp?) throws {
        let upkeep = CleanUpUpkeep(session: session, nodes: nodes, plan)
        try upkeep.purge(
            { try ledger.count(tombstones: $0, of: run) }, { try ledger.count(typedTokens: $1, of: $0, in: run) })
        if let historyBefore {
            let kept = try nodes.withHistory {
                let kept = try keepHistory(since: historyBefore)
                try keepMessages(plan)
                return kept
            }
            if let kept { try upkeep.purgeOwners(historyBefore: Timestamp(kept)) }
            try upkeep.purgeAudit(before: historyBefore)
        }
        try recordCounts()
        try UnusedCells(session: session, nodes: nodes, options: cells).keep()
    }

    /// Of the day whose end is nearest. After a run that was refused for an app, too: its counts are what they are. A
    /// service that looks up cells all the time leaves an app without a record.
    private func recordCounts() throws {
        var pace = try CleanUpPace(session)
        try session.execute(RollUpStatements.allApps).forEachApp { app in
            _ = try nodes.with([app]) {
                do {
                    try pace.run { try record(app) }
                } catch let error where error.isLostRace || error.isLockTimeout {}
            }
        }
    }

    private func record(_ app: AppNumber) throws {
        try session.withTransaction(attemptsMax: Self.attemptsMax, orIf: \.isLockTimeout) {
            try session.run(script: RollUpHistoryStatements.snapshot)
            try RollUpRecording(app).steps.run(in: session)
        }
    }

    /// Receipts and sums of messages, which all apps share.
    private func keepMessages(_ plan: CleanUpPlan) throws {
        try MessageFolder.foldAll(in: session)
        try plan.messages(session, nodes).run { try ledger.count(partitionsDropped: 1, of: run) }
    }

    /// Dropping a partition locks a table. While a session waits for such a lock, all later statements on the table
    /// wait behind it. So the wait is short; a table that is in use all the time is left for the next night.
    ///
    /// - Returns: the time before which no event is left; nil if the oldest month could not be dropped.
    private func keepHistory(since: Timestamp) throws -> PostgresTimestamp? {
        let history = HistoryMonths(session: session)
        var (kept, isDropped) = (PostgresTimestamp?.none, true)
        for month in try history.expired(before: since) {
            try history.recordDropped(month)
            try history.removeFromDefaults(before: month.end) { try ledger.count(historyRemoved: $0, of: run) }
            for name in month.partitions {
                if try history.drop(name) { try ledger.count(partitionsDropped: 1, of: run) } else { isDropped = false }
            }
            if isDropped { kept = month.end }
        }
        return kept
    }
}
