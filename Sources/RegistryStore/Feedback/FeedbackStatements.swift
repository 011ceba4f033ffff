import PostgresClient
import PushRegistry

/// The SQL of `POST …/feedback`, set-based: a statement serves a whole call. `$1` is the app.
enum FeedbackStatements {
    // MARK: Reading

    /// POST …/feedback: the time, of which evidence without one is.
    static let now = PreparedSQL("SELECT clock_timestamp()")

    /// POST …/feedback (R9): the installations that hold these tokens (`$2`, `$3`), as they are at one moment.
    private static let readHolders = PreparedSQL("SELECT \(sql: columns) \(sql: holders)")

    /// The same, and the installations with these ids (`$4`), each once.
    private static let read = PreparedSQL(
        "SELECT \(sql: columns) FROM (\(sql: wanted)) AS w JOIN installation i ON \(sql: isWanted)")

    /// POST …/feedback, after a lost race: the same installations, locked in the order of their ids. The transaction
    /// has locked their tokens (`RegistrationStatements.lockHolders`), so that none of them moves meanwhile.
    private static let lock = PreparedSQL(
        """
        SELECT i.*
        FROM (\(sql: wanted) ORDER BY install_id) AS w
        CROSS JOIN LATERAL (SELECT \(sql: columns) FROM installation i WHERE \(sql: isWanted) FOR UPDATE) AS i
        """)

    private static let holders: PostgresSQL = """
        FROM unnest($2::text[]::provider[], $3::bytea[]) AS k (provider, token_sha256)
            JOIN token_holder h ON h.app_id = $1 AND h.provider = k.provider AND h.token_sha256 = k.token_sha256
            JOIN installation i ON i.app_id = $1 AND i.install_id = h.install_id
        """

    private static let wanted: PostgresSQL = """
        SELECT i.install_id \(sql: holders) UNION SELECT k.install_id FROM unnest($4::text[]) AS k (install_id)
        """

    private static let isWanted: PostgresSQL = "i.app_id = $1 AND i.install_id = w.install_id"

    /// As `FoundInstallation` reads them.
    private static let columns: PostgresSQL = """
        i.install_id, i.provider, i.token_sha256, i.state, i.generation, i.registration_generation,
            i.probably_replaced_by IS NOT NULL, i.last_seen_at, i.revision
        """

    // MARK: Writing

    /// POST …/feedback (R9, R12): one step of these installations (`$7`), with its events, where they have these
    /// revisions (`$8`) still. The registration's generation stays. Answers how many they were.
    ///
    /// `$2` is the time, `$3` the actor, `$4` the new state, `$5` the reason, `$6` whether the former state is
    /// `active`.
    private static let judge = PreparedSQL(
        """
        WITH judged AS (
            UPDATE installation i SET \(sql: step)
            FROM unnest($7::text[], $8::bigint[]) AS k (install_id, revision)
            WHERE \(sql: isUnchanged)
            RETURNING \(sql: judged), i.token_sha256
        ), \(sql: recorded)
        SELECT count(*) FROM judged
        """)

    /// POST …/feedback (R5, fine print 11): the same of installations that give up their tokens (`$9`, the digests).
    /// The transaction has locked the tokens.
    private static let retire = PreparedSQL(
        """
        WITH judged AS (
            UPDATE installation i SET token = NULL, token_sha256 = NULL, p256dh = NULL, auth = NULL, \(sql: step)
            FROM unnest($7::text[], $8::bigint[], $9::bytea[]) AS k (install_id, revision, token_sha256)
            WHERE \(sql: isUnchanged)
            RETURNING \(sql: judged), k.token_sha256
        ), released AS (
            UPDATE token_holder h SET install_id = NULL FROM judged j
            WHERE h.app_id = $1 AND h.provider = j.provider AND h.token_sha256 = j.token_sha256
        ), \(sql: recorded)
        SELECT count(*) FROM judged
        """)

    private static let step: PostgresSQL = """
        state = $4::text::installation_state, generation = i.generation + 1, revision = i.revision + 1,
            state_changed_at = greatest(i.state_changed_at, $2)
        """

    private static let isUnchanged: PostgresSQL = """
        i.app_id = $1 AND i.install_id = k.install_id AND i.revision = k.revision
        """

    private static let judged: PostgresSQL = """
        i.install_id, i.provider, i.user_id, i.generation, i.state_changed_at, i.cell, i.session_expires_at
        """

    private static let recorded: PostgresSQL = """
        recorded AS (
            INSERT INTO token_event (position, at, app_id, install_id, event, reason, actor, provider, token_sha256,
                user_id, previous_user_id, state, generation_before, generation_after)
            SELECT (SELECT \(sql: EventStatements.position)), state_changed_at, $1, install_id, $4::text::event_kind,
                $5, $3, provider, token_sha256, user_id, user_id, $4::text::installation_state, generation - 1,
                generation
            FROM judged
        ), counted AS (
            INSERT INTO rollup_delta (app_id, transaction_id, cell, expires_at, active, installations)
            SELECT $1, \(sql: RollUpDelta.transactionID), cell, session_expires_at, -count(*), 0
            FROM judged WHERE $6 GROUP BY cell, session_expires_at
        )
        """

    // MARK: Statements

    /// What can change nothing costs no look-up, and a token that occurs twice costs one.
    static func read(_ feedback: Feedback) -> PostgresStatement {
        let (app, providers, digests, ids) = subjects(of: feedback)
        return feedback.namesInstallations
            ? PostgresStatement(read, app, providers, digests, ids)
            : PostgresStatement(readHolders, app, providers, digests)
    }

    /// Locks tokens, then installations.
    static func lock(_ feedback: Feedback) -> [PostgresStatement] {
        let (app, providers, digests, ids) = subjects(of: feedback)
        return [
            PostgresStatement(RegistrationStatements.lockHolders, app, providers, digests, ids),
            PostgresStatement(lock, app, providers, digests, ids),
        ]
    }

    private static func subjects(of feedback: Feedback) -> (Int32, [String], [[UInt8]], [String]) {
        let items = feedback.items.filter(\.canMatter)
        let addresses = Array(Set(items.flatMap(\.addresses)))
        return (
            feedback.app.rawValue, addresses.map(\.provider.rawValue), addresses.map(\.sha256),
            Array(Set(items.compactMap { $0.installID?.rawValue }))
        )
    }

    static func write(_ step: FeedbackWrite.SharedStep, of feedback: Feedback, at now: Timestamp) -> PostgresStatement {
        PostgresStatement(step.step.to == .superseded ? retire : judge) { binds in
            binds.bind(feedback.app.rawValue)
            binds.bind(now.postgres)
            binds.bind(feedback.actor)
            binds.bind(step.step.to.rawValue)
            binds.bind(step.step.reason.rawValue)
            binds.bind(step.step.from == .active)
            binds.bind(step.installIDs.map(\.rawValue))
            binds.bind(step.revisions)
            if step.step.to == .superseded { binds.bind(step.digests) }
        }
    }
}

/// An installation as feedback reads it.
struct FoundInstallation: Sendable {
    let judged: JudgedInstallation
    let revision: Int64

    init(_ row: PostgresRow) throws {
        var reader = ColumnReader(row)
        judged = JudgedInstallation(
            installID: try InstallID(reader.next()), provider: try reader.nextLabel(), tokenSHA256: try reader.next(),
            state: try reader.nextLabel(), generation: try reader.next(), registrationGeneration: try reader.next(),
            isProbablyReplaced: try reader.next(), lastSeenAt: try reader.nextTimestamp())
        revision = try reader.next()
    }
}
