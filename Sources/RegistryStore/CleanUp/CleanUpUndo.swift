import PostgresClient
import PushRegistry

extension CleanUp {
    public struct Undoing: Sendable {
        public let runID: Int
        public let restored: Int
        /// Changed since, or not to be restored: the token is somebody else's by now, the session was logged out, the user erased.
        public let skipped: Int
    }

    /// Restores what a run changed, as far as it is there and nothing has happened to it since.
    ///
    /// - Throws: `CleanUpRefusal`, `PostgresError`.
    public func undo(_ run: Int, process: String) async throws -> Undoing {
        try await PostgresSession.withSession(configuration) { session in
            try session.run(script: Self.sessionSettings)
            let ledger = CleanUpLedger(session: session)
            try ledger.lock()
            guard let number = Int32(exactly: run),
                let row = try session.execute(CleanUpUndoStatements.run(number)).first
            else { throw CleanUpRefusal.unknownRun(run) }
            guard try row.decode(0, as: Int32?.self) == nil else { throw CleanUpRefusal.notUndoable(run) }
            let own = try ledger.begin(process: process, undoes: number)
            do {
                _ = try session.execute(CleanUpUndoStatements.addResults(of: own, undoing: number))
                let restored = try Self.restore(session, number, own)
                try ledger.end(own, "done")
                let left: Int = try session.execute(CleanUpUndoStatements.left(of: number))[0].decode(0)
                return Undoing(runID: Int(own), restored: restored, skipped: left)
            } catch {
                try? ledger.end(own, "failed")
                throw error
            }
        }
    }

    private static let undoBatch: Int64 = 1_000

    private static func restore(_ session: PostgresSession, _ run: Int32, _ own: Int32) throws -> Int {
        try session.run(script: "SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off")
        var restored = 0
        var (app, installID): (Int32, String) = (0, "")
        while true {
            let chosen = CleanUpUndoStatements.chosen(run, after: app, installID, limit: undoBatch)
            guard let last = try session.execute(CleanUpUndoStatements.end(of: chosen)).first else { return restored }
            restored += try restoreBatch(session, chosen, own)
            (app, installID) = (try last.decode(0), try last.decode(1))
            try session.checkCancellation()
        }
    }

    /// Locks users, sessions and installations, in the order of registrations, and restores. Somebody may claim a token just now: then
    /// it is theirs at the next try.
    private static func restoreBatch(_ session: PostgresSession, _ chosen: PostgresSQL, _ own: Int32) throws -> Int {
        for number in 1... {
            do {
                return try session.withTransaction {
                    for guarded in CleanUpUndoStatements.shareGuards(of: chosen) { _ = try session.execute(guarded) }
                    return try session.execute(CleanUpUndoStatements.restore(chosen, own))[0].decode(0)
                }
            } catch let error as PostgresError where error.isLostToRegistration && number < 5 {
                try session.checkCancellation()
            }
        }
        return 0
    }
}

extension PostgresError {
    fileprivate var isLostToRegistration: Bool {
        if case .uniqueViolation = kind { return true }
        return retry == .yes
    }
}

/// The SQL of `cleanup undo`.
enum CleanUpUndoStatements {
    static func run(_ run: Int32) -> PostgresStatement { "SELECT undoes FROM cleanup_run WHERE id = \(run)" }

    static func addResults(of own: Int32, undoing run: Int32) -> PostgresStatement {
        "INSERT INTO cleanup_result (run_id, app_id) SELECT \(own), app_id FROM cleanup_result WHERE run_id = \(run)"
    }

    static func left(of run: Int32) -> PostgresStatement {
        "SELECT count(*) FROM cleanup_change WHERE run_id = \(run)"
    }

    /// A batch of what the run changed. Whose session it was the event tells, unless the user was erased.
    static func chosen(_ run: Int32, after app: Int32, _ installID: String, limit: Int64) -> PostgresSQL {
        """
        SELECT c.*, e.previous_user_id AS user_id
        FROM cleanup_change c
        LEFT JOIN LATERAL (
            SELECT previous_user_id FROM token_event e
            WHERE e.app_id = c.app_id AND e.install_id = c.install_id AND e.generation_after = c.generation
                AND c.step = 'sessionEnded'
            ORDER BY e.id DESC LIMIT 1) AS e ON true
        WHERE c.run_id = \(run) AND (c.app_id, c.install_id) > (\(app), \(installID)::text COLLATE "C")
        ORDER BY c.app_id, c.install_id LIMIT \(limit)
        """
    }

    static func end(of chosen: PostgresSQL) -> PostgresStatement {
        "SELECT app_id, install_id FROM (\(sql: chosen)) AS c ORDER BY app_id DESC, install_id DESC LIMIT 1"
    }

    /// R7: a binding must not come back while its session is being ended. Of a user who was not logged out the row may be forgotten.
    static func shareGuards(of chosen: PostgresSQL) -> [PostgresStatement] {
        [
            """
            INSERT INTO user_guard (app_id, user_sha256)
            SELECT DISTINCT app_id, user_digest(user_id) FROM (\(sql: chosen)) AS c WHERE user_id IS NOT NULL ORDER BY 1, 2
            ON CONFLICT DO NOTHING
            """,
            """
            WITH chosen AS MATERIALIZED (\(sql: chosen))
            SELECT FROM user_guard g
            WHERE (g.app_id, g.user_sha256) IN (SELECT app_id, user_digest(user_id) FROM chosen WHERE user_id IS NOT NULL)
            ORDER BY g.app_id, g.user_sha256 FOR SHARE
            """,
            """
            WITH chosen AS MATERIALIZED (\(sql: chosen))
            SELECT FROM session s
            WHERE (s.app_id, s.session_id) IN (SELECT app_id, session_id FROM chosen WHERE session_id IS NOT NULL)
            ORDER BY s.app_id, s.session_id FOR SHARE
            """,
        ]
    }

    /// Restores what still is as the run left it. Answers how many.
    static func restore(_ chosen: PostgresSQL, _ own: Int32) -> PostgresStatement {
        """
        WITH chosen AS MATERIALIZED (\(sql: chosen)), locked AS MATERIALIZED (
            SELECT c.*, i.generation AS present
            FROM chosen c JOIN installation i USING (app_id, install_id)
            WHERE i.generation = c.generation AND \(sql: mayReturn)
            ORDER BY i.app_id, i.install_id
            FOR UPDATE OF i
        ), changed AS (
            UPDATE installation i
            SET state = l.previous_state, generation = i.generation + 1,
                state_changed_at = CASE WHEN i.state = l.previous_state THEN i.state_changed_at ELSE clock_timestamp() END,
                token = coalesce(l.token, i.token), token_sha256 = coalesce(l.token_sha256, i.token_sha256),
                p256dh = coalesce(l.p256dh, i.p256dh), auth = coalesce(l.auth, i.auth),
                user_id = coalesce(l.user_id, i.user_id), session_id = coalesce(l.session_id, i.session_id),
                session_expires_at = coalesce(l.session_expires_at, i.session_expires_at),
                credential_issued_at = coalesce(l.credential_issued_at, i.credential_issued_at)
            FROM locked l WHERE i.app_id = l.app_id AND i.install_id = l.install_id
            RETURNING i.app_id, i.install_id, i.provider, i.token_sha256, i.user_id, i.state, i.generation
        ), told AS (
            INSERT INTO token_event (at, app_id, install_id, event, reason, actor, provider, token_sha256, user_id,
                previous_user_id, state, generation_before, generation_after)
            SELECT clock_timestamp(), app_id, install_id, 'reactivated', \(TokenEvent.Reason.cleanupUndone.rawValue),
                \(literal: CleanUpStatements.actor), provider, token_sha256, user_id, user_id, state, generation - 1, generation
            FROM changed
        ), done AS (
            DELETE FROM cleanup_change c USING locked l WHERE c.app_id = l.app_id AND c.install_id = l.install_id
        ), recorded AS (
            UPDATE cleanup_result r SET restored = r.restored + n.count
            FROM (SELECT app_id, count(*) FROM locked GROUP BY app_id) AS n
            WHERE r.run_id = \(own) AND r.app_id = n.app_id
        )
        SELECT count(*) FROM locked
        """
    }

    /// R1: the token is nobody else's. R7: neither session nor user was logged out since the binding began.
    private static let mayReturn: PostgresSQL = """
        (c.token_sha256 IS NULL OR NOT EXISTS (
            SELECT FROM installation o
            WHERE o.app_id = i.app_id AND o.provider = i.provider AND o.token_sha256 = c.token_sha256))
        AND (c.step <> 'sessionEnded' OR c.user_id IS NOT NULL
            AND EXISTS (
                SELECT FROM session s
                WHERE s.app_id = i.app_id AND s.session_id = c.session_id AND s.ended_at IS NULL)
            AND EXISTS (
                SELECT FROM user_guard g
                WHERE g.app_id = i.app_id AND g.user_sha256 = user_digest(c.user_id)
                    AND coalesce(g.refused_before < i.registered_at, true))
            AND NOT EXISTS (
                SELECT FROM installation_logout o
                WHERE o.app_id = i.app_id AND o.install_id = i.install_id AND o.user_sha256 = user_digest(c.user_id)
                    AND o.session_id IN ('', c.session_id)))
        """
}
