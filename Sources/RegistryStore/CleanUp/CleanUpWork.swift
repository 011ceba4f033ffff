import PostgresClient
import PushRegistry

/// A run that has its lock, its plan and its record.
struct CleanUpWork {
    let session: PostgresSession
    let ledger: CleanUpLedger
    let run: Int32
    let batch: Int64

    private static let attemptsMax = 5

    /// Records what was found in each app.
    func begin(_ plan: CleanUpPlan) throws {
        for (app, result) in plan.entries {
            try ledger.add(
                app, active: result.active, leaving: result.leaving, isRefused: result.isRefused, to: run)
        }
    }

    /// Goes through the plan.
    func retire(_ progress: (CleanUp.Progress) -> Void) throws {
        // The batches are look-ups of many keys, whatever the planner thinks of tables that it has just seen for the first time.
        try session.run(script: "SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off")
        let end: Int64 = try session.execute(CleanUpStatements.planEnd)[0].decode(0)
        var pace = CleanUpPace()
        for first in stride(from: 0, to: end, by: Int64.Stride(batch)) {
            progress(.retiring(Int(first), of: Int(end)))
            let took = try ContinuousClock().measure {
                try attempt {
                    _ = try session.execute(
                        CleanUpStatements.batch(of: run, after: first, through: first + batch).unprepared())
                }
            }
            try session.checkCancellation()
            CleanUpPace.sleep(pace.rest(after: took))
        }
        try session.run(script: "RESET enable_seqscan; RESET enable_hashjoin; RESET enable_mergejoin")
    }

    func keepUp(historyBefore: Timestamp) throws {
        let upkeep = CleanUpUpkeep(session: session)
        try upkeep.purgeTombstones { try ledger.count(tombstones: $0, of: run) }
        try upkeep.forgetOutdatedChanges()
        // Whoever waits for such a lock makes all that come after it wait as well.
        try session.run(script: "SET lock_timeout = '500ms'")
        try attempt { try ledger.count(partitionsMade: upkeep.makePartitions(), of: run) }
        for name in try upkeep.expiredPartitions(before: historyBefore) {
            try attempt { try upkeep.dropPartition(name) }
            try ledger.count(partitionsDropped: 1, of: run)
        }
        try ledger.count(historyRemoved: upkeep.removeFromDefaults(before: historyBefore), of: run)
        try upkeep.foldRollUp()
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
