import PostgresClient
import PushRegistry

/// A run that has its lock, its plan and its record.
struct CleanUpWork {
    let session: PostgresSession
    let ledger: CleanUpLedger
    let run: Int32

    private static let attemptsMax = 5

    /// Records what was found in each app.
    func begin(_ plan: CleanUpPlan) throws {
        for (app, result) in plan.entries {
            try ledger.add(
                app, active: result.active, leaving: result.leaving, isRefused: result.isRefused, to: run)
        }
    }

    /// Goes through the plan.
    func retire(_ plan: CleanUpPlan, _ progress: (CleanUp.Progress) -> Void) throws {
        // Whatever the planner thinks of tables that it has just seen for the first time: a batch reads its pages, and no other table
        // as a whole.
        try session.run(script: "SET enable_seqscan = off; SET enable_mergejoin = off")
        var stretches = plan.stretches
        let total = stretches.count
        var done = 0
        var pace = try CleanUpPace(session)
        while let stretch = stretches.next(of: pace.batch) {
            progress(.retiring(done, of: total))
            try pace.carry {
                try attempt {
                    _ = try session.execute(CleanUpStatements.batch(of: run, on: stretch.pages).unprepared())
                }
            }
            done += stretch.count
        }
        try session.run(script: "RESET enable_seqscan; RESET enable_mergejoin")
    }

    /// - Parameter historyBefore: what is older goes; nil: history stays.
    func keepUp(historyBefore: Timestamp?) throws {
        let upkeep = CleanUpUpkeep(session: session)
        try upkeep.purgeTombstones { try ledger.count(tombstones: $0, of: run) }
        try upkeep.forgetOutdatedChanges()
        if let historyBefore { try keepHistory(since: historyBefore, upkeep) }
        try upkeep.foldRollUp()
    }

    private func keepHistory(since: Timestamp, _ upkeep: CleanUpUpkeep) throws {
        // Whoever waits for such a lock makes all that come after it wait as well.
        try session.run(script: "SET lock_timeout = '500ms'")
        try attempt { try ledger.count(partitionsMade: upkeep.makePartitions(), of: run) }
        for month in try upkeep.expiredMonths(before: since) {
            try upkeep.removeFromDefaults(before: month.end) { try ledger.count(historyRemoved: $0, of: run) }
            for name in month.partitions {
                try attempt { try upkeep.dropPartition(name) }
                try ledger.count(partitionsDropped: 1, of: run)
            }
        }
    }

    /// Tries again after what another try may heal: a deadlock, or somebody who held a lock for too long.
    private func attempt(_ body: () throws -> Void) throws {
        for number in 1... {
            do {
                return try body()
            } catch let error as PostgresError where error.retry == .yes && number < Self.attemptsMax {
                try session.checkCancellation()
                CleanUpPace.sleep(.milliseconds(200 * number))
            }
        }
    }
}
