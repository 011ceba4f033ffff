import PostgresClient
import PushRegistry

/// The SQL of feedback, set-based.
enum FeedbackStatements {
    /// How the installations that feedback is about are read.
    enum Hold {
        /// As they are at one moment. Whoever writes then sees to it that they still are so.
        case none
        /// Locked, in the order of their keys as registrations do.
        case locks

        fileprivate var clause: PostgresSQL {
            switch self {
            case .none: ""
            case .locks: "ORDER BY i.app_id, i.install_id FOR UPDATE OF i"
            }
        }
    }

    /// The installations that are named and those that hold the tokens, each once.
    private static func select(_ hold: Hold) -> PreparedSQL {
        PreparedSQL(
            """
            WITH wanted AS MATERIALIZED (
                SELECT i.install_id FROM unnest($2::text[], $3::bytea[]) AS t (provider, token_sha256)
                JOIN installation i ON \(sql: holdsToken)
                UNION
                SELECT i.install_id FROM unnest($4::text[]) AS k (install_id)
                JOIN installation i ON i.app_id = $1 AND i.install_id = k.install_id
            )
            SELECT \(sql: columns)
            FROM wanted w JOIN installation i ON i.app_id = $1 AND i.install_id = w.install_id
            \(sql: hold.clause)
            """)
    }

    /// The same where no installation is named, as in most feedback: without a second look-up of each row.
    private static func selectHolders(_ hold: Hold) -> PreparedSQL {
        PreparedSQL(
            """
            SELECT \(sql: columns)
            FROM unnest($2::text[], $3::bytea[]) AS t (provider, token_sha256)
            JOIN installation i ON \(sql: holdsToken)
            \(sql: hold.clause)
            """)
    }

    private static let (read, readHolders) = (select(.none), selectHolders(.none))
    private static let (lock, lockHolders) = (select(.locks), selectHolders(.locks))

    /// Whether there is any of these, named or by its token.
    private static let existsSQL = PreparedSQL(
        """
        SELECT EXISTS (
                SELECT FROM unnest($2::text[]) AS k (install_id)
                JOIN installation i ON i.app_id = $1 AND i.install_id = k.install_id)
            OR EXISTS (
                SELECT FROM unnest($3::text[], $4::bytea[]) AS t (provider, token_sha256)
                JOIN installation i ON \(sql: holdsToken))
        """)

    private static let holdsToken: PostgresSQL =
        "i.app_id = $1 AND i.provider = t.provider::provider AND i.token_sha256 = t.token_sha256"

    /// As `JudgedInstallation` reads them.
    private static let columns: PostgresSQL = """
        i.install_id, i.provider, i.token_sha256, i.user_id, i.state, i.generation, i.registration_generation, \
        i.probably_replaced_by IS NOT NULL, i.last_seen_at
        """

    /// R9, R12: the verdicts' states with a new generation, and the events that tell them, where the installations are what they were.
    /// The registration's generation stays.
    ///
    /// Of verdicts of one step, which nearly all are; `LockedFeedback` says the same of the event as the installation does, so that
    /// it need not be sent.
    private static let judgeSQL = PreparedSQL(
        """
        WITH judged AS (
            UPDATE installation i
            SET state = k.state::installation_state, generation = k.generation + 1, state_changed_at = $2
            FROM unnest($4::text[], $5::bigint[], $6::timestamptz[], $7::text[], $8::text[])
                AS k (install_id, generation, last_seen_at, state, reason)
            WHERE \(sql: isUnchanged)
            RETURNING i.install_id, k.state, k.reason, i.provider, i.token_sha256, i.user_id, k.generation
        )
        INSERT INTO token_event (app_id, install_id, event, reason, actor, at, provider, token_sha256, user_id,
            previous_user_id, state, generation_before, generation_after)
        SELECT $1, install_id, state::event_kind, reason, $3, $2, provider, token_sha256, user_id, user_id,
            state::installation_state, generation, generation + 1
        FROM judged
        """)

    /// Of verdicts of several steps, and of installations that give up their token (R5). Their events are sent.
    private static let changeSQL = PreparedSQL(
        """
        UPDATE installation i
        SET state = k.state::installation_state, generation = k.generation_after, state_changed_at = $2,
            token = CASE WHEN k.state <> 'superseded' THEN i.token END,
            token_sha256 = CASE WHEN k.state <> 'superseded' THEN i.token_sha256 END,
            p256dh = CASE WHEN k.state <> 'superseded' THEN i.p256dh END,
            auth = CASE WHEN k.state <> 'superseded' THEN i.auth END
        FROM unnest($3::text[], $4::bigint[], $5::timestamptz[], $6::text[], $7::bigint[])
            AS k (install_id, generation, last_seen_at, state, generation_after)
        WHERE \(sql: isUnchanged)
        """)

    /// A registration either raises the generation or, where it only was seen again, moves the sight.
    private static let isUnchanged: PostgresSQL = """
        i.app_id = $1 AND i.install_id = k.install_id AND i.generation = k.generation AND i.last_seen_at = k.last_seen_at
        """

    /// What can change nothing costs no look-up, and a token that occurs twice costs one.
    static func select(_ feedback: Feedback, _ hold: Hold) -> PostgresStatement {
        let items = feedback.items.filter(\.canMatter)
        let addresses = Array(Set(items.flatMap(\.addresses)))
        let (providers, digests) = (addresses.map(\.provider.rawValue), addresses.map(\.sha256))
        guard feedback.namesInstallations else {
            return PostgresStatement(
                hold == .none ? readHolders : lockHolders, feedback.app.rawValue, providers, digests)
        }
        return PostgresStatement(
            hold == .none ? read : lock, feedback.app.rawValue, providers, digests,
            items.compactMap { $0.installID?.rawValue })
    }

    /// Whether anything is there of what was not found.
    static func exists(_ missing: MissingSubjects, in app: AppNumber) -> PostgresStatement {
        PostgresStatement(
            existsSQL, app.rawValue, missing.installIDs.map(\.rawValue), missing.addresses.map(\.provider.rawValue),
            missing.addresses.map(\.sha256))
    }

    /// Affects a row for each change.
    static func judge(
        _ changes: [LockedFeedback.Change], of feedback: Feedback, at now: Timestamp
    ) -> PostgresStatement {
        PostgresStatement(
            judgeSQL, feedback.app.rawValue, now.postgres, feedback.actor, changes.map(\.before.installID.rawValue),
            changes.map(\.before.generation), changes.map(\.before.lastSeenAt.postgres),
            changes.map(\.after.state.rawValue), changes.map { $0.events[0].reason.rawValue })
    }

    /// Affects a row for each change.
    static func change(
        _ changes: [LockedFeedback.Change], of feedback: Feedback, at now: Timestamp
    ) -> PostgresStatement {
        PostgresStatement(
            changeSQL, feedback.app.rawValue, now.postgres, changes.map(\.before.installID.rawValue),
            changes.map(\.before.generation), changes.map(\.before.lastSeenAt.postgres),
            changes.map(\.after.state.rawValue), changes.map(\.after.generation))
    }
}

extension JudgedInstallation {
    init(_ row: PostgresRow) throws {
        var reader = ColumnReader(row)
        self.init(
            installID: try InstallID(reader.next()), provider: try reader.nextLabel(), tokenSHA256: try reader.next(),
            userID: try reader.next(String?.self).map { try UserID($0) }, state: try reader.nextLabel(),
            generation: try reader.next(), registrationGeneration: try reader.next(),
            isProbablyReplaced: try reader.next(), lastSeenAt: try reader.nextTimestamp())
    }
}
