import Glibc
import PostgresClient
import PushRegistry
import RegistryStore

// How a blocking session sends what a loop's connection sends in a service.

extension RollUpFold {
    /// Folds once.
    static func run(_ app: AppNumber, batch: Int = batchMax, in session: PostgresSession) throws -> Outcome? {
        try session.withTransaction { try steps(app, batch: batch).run(in: session) }
    }

    /// Folds all waiting deltas of all apps, for benchmarks and tests.
    ///
    /// - Returns: how many deltas.
    /// - Throws: `PostgresError`; `cancelled` between two transactions if the task is cancelled.
    @discardableResult
    package static func runAll(in session: PostgresSession) throws -> Int {
        try session.execute(RollUpStatements.allApps)
            .reduce(0) { try $0 + runAll(AppNumber(try $1.decode(0)), in: session) }
    }

    /// Folds all waiting deltas of an app.
    static func runAll(_ app: AppNumber, in session: PostgresSession) throws -> Int {
        var deltas = 0
        while let outcome = try run(app, in: session) {
            deltas += outcome.deltas
            // A sweep writes deltas.
            guard outcome.isFull || outcome.expiries > 0 else { break }
            try session.checkCancellation()
        }
        return deltas
    }
}

extension MessageFolder {
    /// Folds all changes of all apps, for the night job.
    static func foldAll(in session: PostgresSession) throws {
        try session.execute(MessageSumStatements.waiting()).forEachApp { app in
            while try session.execute(MessageSumStatements.fold(app.rawValue, batch))[0].decode(0) as Int >= batch {
                try session.checkCancellation()
            }
            let oldest: Int64 = try session.execute(RollUpStatements.moment)[0].decode(0)
            _ = try session.execute(MessageSumStatements.advance(app.rawValue, oldest))
        }
    }
}

extension PostgresSession {
    /// Runs a transaction, and again where it lost a race or failed otherwise in a way that passes.
    func withTransaction<Value>(
        attemptsMax: Int, orIf passes: (any Error) -> Bool = { _ in false }, _ body: () throws -> Value
    ) throws -> Value {
        for _ in 1..<attemptsMax {
            do {
                return try withTransaction(body)
            } catch let error where error.isLostRace || passes(error) {
                try checkCancellation()
            }
        }
        return try withTransaction(body)
    }

    /// **Blocks** the thread, unless the task that waits for the session was cancelled.
    func pause(for time: Duration) throws {
        try checkCancellation()
        let (seconds, attoseconds) = time.components
        usleep(UInt32(seconds) * 1_000_000 + UInt32(attoseconds / 1_000_000_000_000))
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
