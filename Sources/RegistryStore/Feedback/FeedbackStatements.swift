import PostgresClient
import PushRegistry

/// The SQL of `POST …/feedback`, set-based: a statement serves a whole call. `$1` is the app.
enum FeedbackStatements {
    static let named = [
        NamedStatement("now", now), NamedStatement("readHolders", readHolders), NamedStatement("read", read),
        NamedStatement("lock", lock), NamedStatement("judge", judge), NamedStatement("retire", retire),
    ]

    // MARK: Reading

    static let now = PreparedSQL(
        serving: "POST …/feedback (R9): reads the time, which verdicts without a time get.",
        "SELECT clock_timestamp()")

    // Thousands of rows are read, and later written, in the order of their keys: neighbours share pages of the indexes.

    /// `$2` and `$3` are the providers and digests.
    private static let readHolders = PreparedSQL(
        serving: "POST …/feedback (R9): reads the holders of tokens, at one moment.",
        """
        SELECT \(sql: columns)
        FROM (
            SELECT h.install_id
            FROM (
                SELECT * FROM unnest($2::text[]::provider[], $3::bytea[]) AS k (provider, token_sha256)
                ORDER BY provider, token_sha256) AS k
                JOIN token_holder h ON \(sql: isHeld)
            ORDER BY h.install_id) AS w
            JOIN installation i ON \(sql: isWanted)
        """)

    /// As `readHolders`, and the installations `$4`, each once.
    private static let read = PreparedSQL(
        serving: "POST …/feedback (R9): reads the holders of tokens, and installations by id.",
        """
        SELECT \(sql: columns)
        FROM (\(sql: wanted) ORDER BY install_id) AS w JOIN installation i ON \(sql: isWanted)
        """)

    /// In the order of ids. The transaction has locked their tokens (`RegistrationStatements.lockHolders`), so no token
    /// moves meanwhile.
    private static let lock = PreparedSQL(
        serving: "POST …/feedback (R9), after a lost race: locks the same installations.",
        """
        SELECT i.*
        FROM (\(sql: wanted) ORDER BY install_id) AS w
        CROSS JOIN LATERAL (SELECT \(sql: columns) FROM installation i WHERE \(sql: isWanted) FOR UPDATE) AS i
        """)

    private static let wanted: PostgresSQL = """
        SELECT h.install_id
        FROM unnest($2::text[]::provider[], $3::bytea[]) AS k (provider, token_sha256)
            JOIN token_holder h ON \(sql: isHeld)
        UNION SELECT k.install_id FROM unnest($4::text[]) AS k (install_id)
        """

    private static let isHeld: PostgresSQL = """
        h.app_id = $1 AND h.provider = k.provider AND h.token_sha256 = k.token_sha256
        """

    private static let isWanted: PostgresSQL = "i.app_id = $1 AND i.install_id = w.install_id"

    /// As `FoundInstallation` reads them.
    private static let columns: PostgresSQL = """
        i.install_id, i.provider, i.token_sha256, i.state, i.generation, i.registration_generation,
            i.probably_replaced_by IS NOT NULL, i.last_seen_at, i.revision
        """

    // MARK: Writing

    /// One step for the installations `$4` that still have the revisions `$5`. The registration's generation stays.
    /// Returns the changed installations, as `StateChange` reads them. The same transaction records them.
    ///
    /// `$2` is the time, `$3` the new state.
    private static let judge = PreparedSQL(
        serving: "POST …/feedback (R9): changes the state of installations.",
        """
        UPDATE installation i SET \(sql: step)
        FROM unnest($4::text[], $5::bigint[]) AS k (install_id, revision)
        WHERE \(sql: isUnchanged)
        RETURNING \(sql: judged), i.token_sha256
        """)

    /// As `judge`, with the tokens' digests `$6` (fine print 11). The transaction has locked the tokens.
    private static let retire = PreparedSQL(
        serving: "POST …/feedback (R5, R9): retires replaced installations, which lose their tokens.",
        """
        UPDATE installation i SET token = NULL, token_sha256 = NULL, p256dh = NULL, auth = NULL, \(sql: step)
        FROM unnest($4::text[], $5::bigint[], $6::bytea[]) AS k (install_id, revision, token_sha256)
        WHERE \(sql: isUnchanged)
        RETURNING \(sql: judged), k.token_sha256
        """)

    private static let step: PostgresSQL = """
        state = $3::text::installation_state, generation = i.generation + 1, revision = i.revision + 1,
            state_changed_at = greatest(i.state_changed_at, $2)
        """

    private static let isUnchanged: PostgresSQL = """
        i.app_id = $1 AND i.install_id = k.install_id AND i.revision = k.revision
        """

    private static let judged: PostgresSQL = """
        i.install_id, i.provider, i.user_id, i.user_id, i.state, i.generation, i.state_changed_at, i.cell, i.topics,
            i.session_expires_at
        """

    // MARK: Statements

    /// Items that can change nothing cost no look-up. A token that occurs twice costs one.
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
            binds.bind(step.step.to.rawValue)
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
