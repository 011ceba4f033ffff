import PostgresClient
import PushRegistry

extension CleanUp {
    public struct Undoing: Sendable {
        public let runID: Int
        public let restored: Int
        /// Installations that have changed since, or that must not be restored: another installation holds the token,
        /// the session was logged out, or the user was erased.
        public let skipped: Int
    }

    /// Restores a run's installations that have not changed since.
    ///
    /// - Throws: `CleanUpRefusal`, `PostgresError`.
    public func undo(_ run: Int, process: String) async throws -> Undoing {
        try await PostgresSession.withSession(configuration) { session in
            try session.run(script: CleanUpStatements.sessionSettings)
            let ledger = CleanUpLedger(session: session)
            try ledger.lock()
            defer { ledger.unlock() }
            guard let number = Int32(exactly: run), let row = try Self.record(of: number, session) else {
                throw CleanUpRefusal.unknownRun(run)
            }
            guard try row.decode(0, as: Int32?.self) == nil else { throw CleanUpRefusal.notUndoable(run) }
            let own = try ledger.begin(process: process, undoes: number)
            do {
                _ = try session.execute(PostgresStatement(CleanUpUndoStatements.addResults, own, number))
                let restored = try CleanUpUndo(session: session, run: number, own: own).restore()
                try ledger.end(own, "done")
                let left: Int = try session.execute(PostgresStatement(CleanUpUndoStatements.left, number))[0].decode(0)
                return Undoing(runID: Int(own), restored: restored, skipped: left)
            } catch {
                try? ledger.end(own, "failed")
                throw error
            }
        }
    }

    fileprivate static func record(of run: Int32, _ session: PostgresSession) throws -> PostgresRow? {
        try session.execute(PostgresStatement(CleanUpUndoStatements.run, run)).first
    }
}

/// The undoing of a run. It reads the installations to restore once, and writes them by key in batches, in the lock
/// order of all transactions: users, sessions, tokens, installations.
private struct CleanUpUndo {
    let session: PostgresSession
    let run: Int32
    /// The number of the run that undoes.
    let own: Int32

    private static let batch = 1_000
    private static let pagesPerRead: Int64 = 4_096
    private static let attemptsMax = 20

    func restore() throws -> Int {
        try restoreJudged() + restoreChanges()
    }

    private func now() throws -> PostgresTimestamp {
        try session.execute(CleanUpStatements.now)[0].decode(0)
    }

    /// Of the transaction.
    private func moment() throws -> Moment {
        try Moment(session.execute(PostgresStatement(RegistrationStatements.now)))
    }

    /// Installations that became stale or unregistered lost nothing.
    private func restoreJudged() throws -> Int {
        guard let run = try CleanUp.record(of: run, session) else { return 0 }
        let (start, end): (PostgresTimestamp, PostgresTimestamp) = (try run.decode(1), try run.decode(2))
        var restored = 0
        for range in try PageRange.all(of: "installation", by: Self.pagesPerRead, session) {
            let rows = try session.execute(
                CleanUpUndoStatements.readJudged(range, from: start, to: end).unprepared())
            let found = try rows.map(Judged.init)
            for (app, rows) in Dictionary(grouping: found, by: \.app) {
                for (state, rows) in Dictionary(grouping: rows, by: \.formerState) {
                    restored += try restore(rows.sorted { $0.installID < $1.installID }, of: app, to: state)
                }
            }
        }
        return restored
    }

    private struct Judged {
        let app: Int32
        /// The former state follows from the step: only active installations become stale, and only suspect ones
        /// unregistered.
        let formerState: String
        let installID: String
        let revision: Int64

        init(_ row: PostgresRow) throws {
            app = try row.decode(0)
            formerState = try row.decode(1, as: String.self) == "stale" ? "active" : "suspect"
            installID = try row.decode(2)
            revision = try row.decode(3)
        }
    }

    private func restore(_ rows: [Judged], of app: Int32, to state: String) throws -> Int {
        var restored = 0
        for batch in rows.batches(of: Self.batch) {
            let now = try now()
            restored += try session.withTransaction(attemptsMax: Self.attemptsMax) {
                try session.run(script: CleanUpUndoStatements.batchSettings)
                return try session.execute(
                    PostgresStatement(
                        CleanUpUndoStatements.restoreJudged, app, now, own, batch.map(\.installID),
                        batch.map(\.revision), state, moment().position))[0].decode(0) as Int
            }
            try session.checkCancellation()
        }
        return restored
    }

    /// Installations that lost a token or a session.
    private func restoreChanges() throws -> Int {
        var restored = 0
        var (app, installID): (Int32, String) = (0, "")
        while true {
            let rows = try session.execute(
                PostgresStatement(CleanUpUndoStatements.readChanges, run, app, installID, Int64(Self.batch)))
            let changes = try rows.map(Change.init)
            guard let last = changes.last else { return restored }
            for (app, changes) in Dictionary(grouping: changes, by: \.app) {
                restored += try restore(changes, of: app)
            }
            (app, installID) = (last.app, last.installID)
            try session.checkCancellation()
        }
    }

    private struct Change {
        let app: Int32
        let installID: String
        let generation: Int64
        let sessionID: String?
        let userID: String?
        let provider: Provider
        let tokenSHA256: [UInt8]?

        init(_ row: PostgresRow) throws {
            (app, installID, generation) = (try row.decode(0), try row.decode(1), try row.decode(2))
            (sessionID, userID) = (try row.decode(3), try row.decode(4))
            var reader = ColumnReader(row, from: 5)
            (provider, tokenSHA256) = (try reader.nextLabel(), try reader.next())
        }
    }

    private func restore(_ changes: [Change], of app: Int32) throws -> Int {
        let now = try now()
        return try session.withTransaction(attemptsMax: Self.attemptsMax) {
            try session.run(script: CleanUpUndoStatements.batchSettings)
            for lock in try locks(for: changes, of: app) { _ = try session.execute(lock) }
            let moment = try moment()
            return try session.execute(
                PostgresStatement(
                    CleanUpUndoStatements.restoreChanges, app, now, own, changes.map(\.installID),
                    changes.map(\.generation), changes.map(\.userID), moment.position,
                    moment.number))[0].decode(0)
        }
    }

    /// R7: a binding must not come back while its session is being ended. R1: no installation may claim a token
    /// meanwhile. The night job may have forgotten the row of a token without a holder; it is added again.
    private func locks(for changes: [Change], of app: Int32) throws -> [PostgresStatement] {
        let users = try Set(changes.compactMap(\.userID)).map { UserDigest.sha256(try UserID($0)) }
        let sessions = Array(Set(changes.filter { $0.userID != nil }.compactMap(\.sessionID)))
        let app = AppNumber(app)
        let tokens = changes.compactMap { change in
            change.tokenSHA256.map { TokenAddress(app: app, provider: change.provider, sha256: $0) }
        }
        var statements: [PostgresStatement] = []
        if !users.isEmpty || !sessions.isEmpty {
            statements.append(LockBuckets(users: users, sessions: sessions, in: app).shared)
        }
        if !tokens.isEmpty {
            statements += [HolderStatements.add(tokens, in: app), HolderStatements.lock(tokens, in: app)]
        }
        // The position of the events is read under these locks, so it is above that of every earlier event.
        statements.append(PostgresStatement(InstallationStatements.lock, app.rawValue, changes.map(\.installID)))
        return statements
    }
}

extension Array {
    fileprivate func batches(of size: Int) -> [Array] {
        stride(from: 0, to: count, by: size).map { Array(self[$0..<Swift.min($0 + size, count)]) }
    }
}
