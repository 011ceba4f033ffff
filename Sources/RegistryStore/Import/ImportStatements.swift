import PostgresClient
import PushRegistry

/// The SQL of `push-registry import`. It copies lines into a table of the session, from which one statement creates the
/// installations that are new.
enum ImportStatements {
    static let named = [
        NamedStatement("createTable", serving: "import: creates the session's table of lines.", createTable),
        NamedStatement("copy", serving: "import: copies lines into this table.", copy),
        NamedStatement("empty", serving: "import: empties this table after a batch.", empty),
        NamedStatement("now", serving: "import: reads the time of the transaction.", now),
        NamedStatement(
            "addUsers", serving: "import (R7): adds users that have no row.",
            addUsers(NamedStatement.app, at: NamedStatement.time)),
        NamedStatement(
            "shareUsers", serving: "import (R7): locks users in share mode.", shareUsers(NamedStatement.app)),
        NamedStatement(
            "addSessions", serving: "import (R7): adds sessions that have no row.", addSessions(NamedStatement.app)),
        NamedStatement(
            "shareSessions", serving: "import (R7): locks sessions in share mode.", shareSessions(NamedStatement.app)),
        NamedStatement(
            "merge", serving: "import (R1, R7, R12, R13): creates the installations that the registry does not have.",
            PostgresStatement(
                merge(
                    NamedStatement.app, at: NamedStatement.time, position: 0, TopicCatalogue(), checksUsers: true))),
        NamedStatement(
            "present", serving: "import: counts lines whose installation exists.", present(NamedStatement.app)),
        NamedStatement(
            "preview", serving: "import, dry run (R1, R7): counts lines that exist, and lines that are refused.",
            preview(NamedStatement.app, CleanUpBounds(.standard, asOf: Timestamp(NamedStatement.time)))),
        NamedStatement(
            "previewTopics", serving: "import --topics, dry run: counts choices by topic.",
            previewTopics(NamedStatement.app, at: NamedStatement.time)),
    ]

    static let binding = BatchColumns<ImportedRow>([
        .init("install_id", "text") { $0.installation.installID.rawValue },
        .init("provider", "text", cast: "provider") { $0.installation.token.provider.rawValue },
        .init("token", "text") { $0.installation.token.text },
        .init("token_sha256", "bytea") { $0.tokenSHA256 },
        .init("p256dh", "text") { $0.installation.keys?.p256dh },
        .init("auth", "text") { $0.installation.keys?.auth },
        .init("user_id", "text") { $0.installation.userID?.rawValue },
        .init("session_id", "text") { $0.installation.session?.id.rawValue },
        .init("session_expires_at", "timestamptz") { $0.installation.session?.expiresAt?.postgres },
        .init("registrant", "bigint") { $0.registrant },
        .init("cell", "bigint") { $0.cell },
        .init("snapshot_digest", "bytea") { $0.snapshotDigest },
        .init("created_at", "timestamptz") { $0.installation.createdAt?.postgres },
        .init("last_seen_at", "timestamptz") { $0.installation.lastSeenAt?.postgres },
        .init("topic_choices", choices: { $0.installation.topicChoices }),
    ])
    private static let snapshot = SnapshotColumns.batch.list
    private static let columns = binding.list + snapshot

    /// Columns as in `installation`; all of them may be NULL.
    static let createTable = PostgresStatement(
        "CREATE TEMPORARY TABLE imported AS SELECT \(sql: columns.names) FROM installation WITH NO DATA")

    static let copy = PostgresStatement("COPY imported (\(sql: columns.names)) FROM STDIN (FORMAT binary)")

    static let empty = PostgresStatement("TRUNCATE imported")

    static let now: PostgresStatement = "SELECT \(sql: RegistryClockStatements.now)"

    // MARK: Locks, users first

    /// A transaction that binds an installation to a user locks the user's row, as a registration does. Returns the
    /// number of users, and of those that this transaction has added: their rows are locked, and refuse nothing.
    static func addUsers(_ app: AppNumber, at now: PostgresTimestamp) -> PostgresStatement {
        """
        WITH named AS MATERIALIZED (
            SELECT DISTINCT \(sql: UserDigest.sha256(of: "user_id")) AS user_sha256
            FROM imported WHERE user_id IS NOT NULL ORDER BY 1
        ), added AS (
            INSERT INTO user_guard (app_id, user_sha256, added_at)
            SELECT \(app.rawValue), user_sha256, \(now)::timestamptz FROM named
            ON CONFLICT DO NOTHING
            RETURNING true)
        SELECT (SELECT count(*) FROM named), (SELECT count(*) FROM added)
        """
    }

    /// After the users' rows.
    static func addSessions(_ app: AppNumber) -> PostgresStatement {
        """
        INSERT INTO session (app_id, session_id, user_sha256, seen_at)
        SELECT DISTINCT ON (session_id) \(app.rawValue), session_id, \(sql: UserDigest.sha256(of: "user_id")),
            \(sql: RegistryClockStatements.now)
        FROM imported WHERE session_id IS NOT NULL ORDER BY session_id
        ON CONFLICT DO NOTHING
        """
    }

    /// Returns the number of sessions, and of their rows that are locked.
    static func shareSessions(_ app: AppNumber) -> PostgresStatement {
        """
        WITH named AS MATERIALIZED (
            SELECT DISTINCT session_id FROM imported WHERE session_id IS NOT NULL ORDER BY session_id
        ), shared AS MATERIALIZED (
            SELECT s.session_id
            FROM named n
            CROSS JOIN LATERAL (
                SELECT session_id FROM session
                WHERE app_id = \(app.rawValue) AND session_id = n.session_id LIMIT 1 FOR SHARE) AS s)
        SELECT (SELECT count(*) FROM named), (SELECT count(*) FROM shared)
        """
    }

    /// Returns the number of users, and of their rows that are locked. It looks up each user: the planner's statistics
    /// of a growing table might lead to a plan that reads all users for each one.
    static func shareUsers(_ app: AppNumber) -> PostgresStatement {
        """
        WITH named AS MATERIALIZED (
            SELECT DISTINCT \(sql: UserDigest.sha256(of: "user_id")) AS user_sha256
            FROM imported WHERE user_id IS NOT NULL ORDER BY 1
        ), shared AS MATERIALIZED (
            SELECT u.user_sha256
            FROM named n
            CROSS JOIN LATERAL (
                SELECT user_sha256 FROM user_guard
                WHERE app_id = \(app.rawValue) AND user_sha256 = n.user_sha256 LIMIT 1 FOR SHARE) AS u)
        SELECT (SELECT count(*) FROM named), (SELECT count(*) FROM shared)
        """
    }

    // MARK: Merge

    /// An installation or a token that the registry has stays as it is. The statement claims tokens first, then writes
    /// installations, each in the order of keys. It returns the numbers of created installations and of the choices on
    /// them.
    ///
    /// An empty registration digest matches no registration: the first registration writes the row, and may bind a
    /// session. A time in the future counts as now. A generation begins at the microsecond of the import, above all
    /// earlier generations of this id.
    ///
    /// `IS TRUE` keeps the planner from a join: it expects one row of `wanted`, and would compare each line with each
    /// other one. As it stands, `held` is hashed.
    ///
    /// - Parameters:
    ///   - position: of the events, drawn by this transaction: inside of this statement, it would be the one of the
    ///     app's node on Citus.
    ///   - topics: of the choices, for their events.
    ///   - checksUsers: false if this transaction has added all users of the lines: none was logged out.
    static func merge(
        _ app: AppNumber, at now: PostgresTimestamp, position: Int64, _ topics: TopicCatalogue, checksUsers: Bool
    ) -> PostgresSQL {
        """
        WITH wanted AS MATERIALIZED (
            SELECT *, least(last_seen_at, \(now)::timestamptz) AS seen_at
            FROM (
                SELECT DISTINCT ON (provider, token_sha256) *
                FROM (SELECT DISTINCT ON (install_id) * FROM imported ORDER BY install_id) AS line
                WHERE NOT \(sql: isRefused(app, now, checksUsers: checksUsers)) AND NOT \(sql: isPresent(app))
                ORDER BY provider, token_sha256) AS line
        ), held AS (
            INSERT INTO token_holder AS h (app_id, provider, token_sha256, install_id)
            SELECT \(app.rawValue), provider, token_sha256, install_id FROM wanted ORDER BY provider, token_sha256
            ON CONFLICT (app_id, provider, token_sha256) DO UPDATE SET install_id = excluded.install_id
            WHERE h.install_id IS NULL
            RETURNING install_id
        ), created AS (
            INSERT INTO installation AS i (app_id, install_id, provider, token, token_sha256, p256dh, auth, user_id,
                session_id, session_expires_at, registrant, snapshot_sender, state, generation,
                registration_generation, epoch, revision, created_at, registered_at, last_seen_at, state_changed_at,
                snapshot_at, cell, registration_digest, snapshot_digest, topic_choices, topics, \(sql: snapshot.names))
            SELECT \(app.rawValue), w.install_id, w.provider, w.token, w.token_sha256, w.p256dh, w.auth, w.user_id,
                w.session_id, w.session_expires_at, w.registrant, w.registrant, 'active', g.first, g.first, g.first,
                g.first, least(w.created_at, w.seen_at), w.seen_at, w.seen_at, g.now, g.now, w.cell, ''::bytea,
                w.snapshot_digest, w.topic_choices,
                CASE WHEN w.topic_choices IS NULL THEN (\(sql: inherited(app)))
                    ELSE merged_choices(w.topic_choices, (\(sql: inherited(app)))) END,
                \(sql: snapshot.names(of: "w"))
            FROM (SELECT \(now)::timestamptz AS now, \(now.microsecondsSince1970)::bigint AS first OFFSET 0) AS g
                CROSS JOIN (
                    SELECT * FROM wanted WHERE (install_id IN (SELECT install_id FROM held)) IS TRUE
                    ORDER BY install_id) AS w
            RETURNING i.install_id, i.provider, i.token_sha256, i.user_id, i.session_id, i.session_expires_at,
                i.generation, i.state_changed_at, i.cell, i.topics, i.topic_choices
        ), owned AS (
            INSERT INTO installation_owner AS o (app_id, user_id, install_id, session_id)
            SELECT \(app.rawValue), user_id, install_id, session_id FROM created WHERE user_id IS NOT NULL
            ON CONFLICT (app_id, user_id, install_id)
            DO UPDATE SET session_id = excluded.session_id, left_at = NULL
        ), recorded AS (
            INSERT INTO token_event (position, at, app_id, install_id, event, reason, actor, provider, token_sha256,
                user_id, state, generation_before, generation_after, topics)
            SELECT \(position), state_changed_at, \(app.rawValue), install_id, 'imported'::event_kind,
                \(literal: reason), \(literal: actor), provider, token_sha256, user_id, 'active'::installation_state, 0,
                generation, NULL::text[]
            FROM created
            UNION ALL
            SELECT \(position), state_changed_at, \(app.rawValue), install_id, 'topicsChanged', \(literal: reason),
                \(literal: actor), provider, token_sha256, user_id, 'active', generation, generation,
                \(sql: slugs(topics))
            FROM created WHERE topic_choices IS NOT NULL
        ), counted AS (
            \(sql: RollUpDeltaStatements.insert(into: "\(app.rawValue)", from: """
                SELECT topics, cell, session_expires_at AS expires_at, 1 AS active, 1 AS installations FROM created
                """))
        )
        SELECT count(*), coalesce(sum(cardinality(topic_choices)), 0) FROM created
        """
    }

    /// The choices of a line's user.
    private static func inherited(_ app: AppNumber) -> PostgresSQL {
        """
        SELECT u.topics FROM user_guard u \
        WHERE u.app_id = \(app.rawValue) AND u.user_sha256 = \(sql: UserDigest.sha256(of: "w.user_id"))
        """
    }

    /// The topics of the choices on a created installation, by their slugs.
    private static func slugs(_ topics: TopicCatalogue) -> PostgresSQL {
        """
        ARRAY(
            SELECT (\(topics.topics.map(\.slug.rawValue))::text[])[
                array_position(\(topics.topics.map(\.number.rawValue))::integer[], abs(c.code))] COLLATE "C" AS slug
            FROM unnest(topic_choices) AS c (code) ORDER BY slug)
        """
    }

    /// R7: whether the line's user was logged out everywhere or erased after the line's time, or its session was ended.
    /// A line without a time counts as older than every logout.
    private static func isRefused(
        _ app: AppNumber, _ now: PostgresTimestamp, checksUsers: Bool = true
    ) -> PostgresSQL {
        let endedSession: PostgresSQL = """
            EXISTS (
                SELECT FROM session s
                WHERE s.app_id = \(app.rawValue) AND s.session_id = line.session_id AND s.ended_at IS NOT NULL)
            """
        guard checksUsers else { return endedSession }
        return """
            (coalesce((
                SELECT refused_before FROM user_guard
                WHERE app_id = \(app.rawValue) AND user_sha256 = \(sql: UserDigest.sha256(of: "line.user_id")))
                > CASE WHEN line.last_seen_at IS NULL THEN '-infinity'
                    ELSE least(line.last_seen_at, \(now)::timestamptz) END,
                false)
            OR \(sql: endedSession))
            """
    }

    /// Looks up each line, for the same reason as `shareUsers`.
    private static func isPresent(_ app: AppNumber) -> PostgresSQL {
        """
        ((SELECT true FROM installation WHERE app_id = \(app.rawValue) AND install_id = line.install_id) IS NOT NULL)
        """
    }

    static func present(_ app: AppNumber) -> PostgresStatement {
        """
        WITH line AS MATERIALIZED (SELECT install_id FROM imported)
        SELECT count(*) FROM line WHERE \(sql: isPresent(app))
        """
    }

    /// Returns for each provider the numbers of lines whose installation exists, of other lines that are refused, and
    /// of those that remain: how many, how many are reachable (as `AudienceSource` has it), how many the next clean-up
    /// would retire, how many have neither zone nor offset, and how many no user. It changes nothing.
    static func preview(_ app: AppNumber, _ bounds: CleanUpBounds) -> PostgresStatement {
        let now = bounds.asOf.postgres
        let unseenSince = Provider.allCases.map { provider in
            "WHEN \(sql: PostgresSQL(literal: provider.rawValue)) THEN \(bounds.unseenSince(provider).postgres)"
                as PostgresSQL
        }.joined(separator: " ")
        return """
            WITH line AS MATERIALIZED (
                SELECT install_id, provider, token_sha256, user_id, session_id, session_expires_at, last_seen_at,
                    settings, time_zone_offset
                FROM imported)
            SELECT provider::text, count(*) FILTER (WHERE is_present),
                count(*) FILTER (WHERE is_forbidden AND NOT is_present), count(*) FILTER (WHERE is_new),
                count(*) FILTER (WHERE is_new AND is_allowed),
                count(*) FILTER (WHERE is_new AND seen_at <= CASE provider::text \(sql: unseenSince) END),
                count(*) FILTER (WHERE is_new AND time_zone_offset = \(sql: ZoneOffsets.noOffset)),
                count(*) FILTER (WHERE is_new AND user_id IS NULL)
            FROM (
                SELECT *, NOT is_present AND NOT is_forbidden AS is_new
                FROM (
                    SELECT provider, user_id, time_zone_offset, coalesce(last_seen_at, \(now)::timestamptz) AS seen_at,
                        \(sql: AudienceSource.isReachable(at: bounds.asOf)) AS is_allowed,
                        \(sql: isPresent(app)) AS is_present,
                        \(sql: isHeld(app)) OR \(sql: isRefused(app, now)) AS is_forbidden
                    FROM line) AS line) AS line
            GROUP BY provider
            """
    }

    /// Returns for each topic the numbers of the new lines that choose it, and that choose or leave it.
    static func previewTopics(_ app: AppNumber, at now: PostgresTimestamp) -> PostgresStatement {
        """
        WITH line AS MATERIALIZED (
            SELECT install_id, provider, token_sha256, user_id, session_id, last_seen_at, topic_choices
            FROM imported WHERE topic_choices IS NOT NULL)
        SELECT abs(c.code), count(*) FILTER (WHERE c.code > 0), count(*)
        FROM line CROSS JOIN LATERAL unnest(line.topic_choices) AS c (code)
        WHERE NOT \(sql: isPresent(app)) AND NOT \(sql: isHeld(app)) AND NOT \(sql: isRefused(app, now))
        GROUP BY abs(c.code)
        """
    }

    /// Whether another installation holds the line's token.
    private static func isHeld(_ app: AppNumber) -> PostgresSQL {
        """
        ((SELECT h.install_id FROM token_holder h
            WHERE h.app_id = \(app.rawValue) AND h.provider = line.provider AND h.token_sha256 = line.token_sha256)
            IS NOT NULL)
        """
    }

    /// Of the events.
    static let actor = "job:import"
    static let reason = "imported"
}
