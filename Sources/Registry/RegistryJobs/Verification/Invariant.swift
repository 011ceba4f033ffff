import PostgresClient
import PushRegistry
import RegistryStore

/// A condition that the data fulfils at every moment, and the SQL that finds violations.
public struct Invariant: Sendable {
    /// Stable, kebab-case.
    public let name: String
    /// The number of its entry on the page Rules, or the decision from which it follows.
    public let rule: String
    public let promise: String
    /// Selects a text for each row that breaks the promise; never a token.
    let broken: PostgresSQL

    init(_ name: String, _ rule: String, _ promise: String, _ broken: PostgresSQL) {
        self.name = name
        self.rule = rule
        self.promise = promise
        self.broken = broken
    }

    /// Counts the violations and returns the first few, in one pass.
    var count: PostgresStatement {
        let sql: PostgresSQL = """
            SELECT count(*), coalesce(array_agg(example) FILTER (WHERE number <= \(Self.examplesMax)), '{}')
            FROM (SELECT example, row_number() OVER () AS number FROM (\(sql: broken)) AS b (example)) AS n
            """
        return PostgresStatement(sql).unprepared()
    }

    static let examplesMax: Int64 = 5

    /// All invariants.
    public static let all =
        installations + typedTokens + history + sessions + topics + notifications + rollUp + cleanUp + messages + schema
}

// MARK: - Installations

extension Invariant {
    private static let installations = [
        Invariant(
            "token-holder", "R1", "a token has one holder, which is the installation that has the token",
            """
            SELECT i.app_id || '/' || i.install_id
            FROM installation i
                LEFT JOIN token_holder h
                    ON h.app_id = i.app_id AND h.provider = i.provider AND h.token_sha256 = i.token_sha256
            WHERE i.token_sha256 IS NOT NULL AND h.install_id IS DISTINCT FROM i.install_id
            UNION ALL
            SELECT h.app_id || '/' || h.install_id || ' has not the token that it holds'
            FROM token_holder h LEFT JOIN installation i ON i.app_id = h.app_id AND i.install_id = h.install_id
            WHERE h.install_id IS NOT NULL
                AND (i.provider IS DISTINCT FROM h.provider OR i.token_sha256 IS DISTINCT FROM h.token_sha256)
            """),
        Invariant(
            "token-digest", "R1", "the digest of a row is the SHA-256 of its token's address",
            """
            SELECT app_id || '/' || install_id FROM installation
            WHERE token_sha256 IS DISTINCT FROM sha256(convert_to(\(sql: TokenColumns.address), 'UTF8'))
            """),
        Invariant(
            "token-and-state", "R4", "only a superseded installation holds no token; its keys go with the token",
            """
            SELECT app_id || '/' || install_id FROM installation
            WHERE (token IS NULL) <> (state = 'superseded') OR (p256dh IS NULL) <> (auth IS NULL)
                OR (p256dh IS NOT NULL) <> (provider = 'webPush' AND token IS NOT NULL)
            """),
        Invariant(
            "owner", "R4", "an installation and the bindings to users agree on its user and session",
            """
            SELECT i.app_id || '/' || i.install_id
            FROM installation i
                LEFT JOIN installation_owner o ON o.app_id = i.app_id AND o.user_id = i.user_id
                    AND o.install_id = i.install_id AND o.left_at IS NULL
            WHERE i.user_id IS NOT NULL AND (o.install_id IS NULL OR o.session_id IS DISTINCT FROM i.session_id)
            UNION ALL
            SELECT o.app_id || '/' || o.install_id || ' has left its user'
            FROM installation_owner o LEFT JOIN installation i ON i.app_id = o.app_id AND i.install_id = o.install_id
            WHERE o.left_at IS NULL AND i.user_id IS DISTINCT FROM o.user_id
            """),
        Invariant(
            "registrant", "20", "the user of an installation registered it last",
            """
            SELECT app_id || '/' || install_id FROM installation
            WHERE user_id IS NOT NULL AND registrant IS DISTINCT FROM
                ('x' || encode(substr(\(sql: UserDigest.sha256(of: "user_id")), 1, 8), 'hex'))::bit(64)::bigint
            """),
        Invariant(
            "owner-and-session", "R6", "a session has an owner, an expiry a session; after a logout there is no owner",
            """
            SELECT app_id || '/' || install_id FROM installation
            WHERE session_id IS NOT NULL AND user_id IS NULL OR session_expires_at IS NOT NULL AND session_id IS NULL
                OR state = 'loggedOut' AND user_id IS NOT NULL
            """),
        Invariant(
            "generation", "R8", "a row's generation is at least that of its last registration; it has a revision",
            """
            SELECT app_id || '/' || install_id FROM installation
            WHERE generation < registration_generation OR registration_generation <= 0 OR revision < 1
                OR epoch NOT BETWEEN 1 AND generation
            """),
        Invariant(
            "times", "R2",
            "an installation was created, then registered, then seen; its state changed after its creation",
            """
            SELECT app_id || '/' || install_id FROM installation
            WHERE created_at > registered_at OR registered_at > last_seen_at OR created_at > state_changed_at
                OR created_at > snapshot_at
            """),
        Invariant(
            "held-verdict", "R9", "what the breaker for feedback holds can be released",
            """
            SELECT i.app_id || '/' || i.install_id
            FROM installation i
                JOIN token_event e ON e.app_id = i.app_id AND e.install_id = i.install_id
                    AND e.generation_after = i.generation AND e.reason = 'feedbackBreaker'
                LEFT JOIN feedback_breaker b ON b.app_id = i.app_id AND b.provider = i.provider AND b.kind = ''
            WHERE i.state = 'suspect' AND (b.held_since IS NULL OR b.held_since > e.at)
            """),
        Invariant(
            "app", "R1", "an installation belongs to an app",
            """
            WITH known AS MATERIALIZED (SELECT id FROM app)
            SELECT i.app_id || '/' || i.install_id FROM installation i
            WHERE i.app_id NOT IN (SELECT id FROM known)
            """),
    ]
}

// MARK: - History

extension Invariant {
    private static let history = [
        Invariant(
            // If the clock was set back, a later event may have been dropped with an earlier month.
            "event-chain", "R12", "each event continues the one before it or begins a new life, later in the feed",
            """
            SELECT app_id || '/' || install_id || ' event ' || e.id
            FROM (
                SELECT app_id, install_id, id, event, position, generation_before, generation_after,
                    lag(generation_after) OVER installations AS reached,
                    lag(position) OVER installations AS last_position
                FROM token_event WHERE install_id IS NOT NULL
                WINDOW installations AS (PARTITION BY app_id, install_id ORDER BY id)) AS e
                LEFT JOIN dropped_history h USING (app_id)
            WHERE generation_after < generation_before OR e.position < last_position
                OR (event IN ('logoutIgnored', 'topicsChanged', 'tokenMoved')) <> (generation_after = generation_before)
                OR reached IS NOT NULL AND generation_before <> reached
                    AND NOT (generation_before = 0 AND generation_after > reached)
                    AND NOT (generation_before > reached AND h.position IS NOT NULL AND h.position >= last_position)
            """),
        Invariant(
            "event-matches-row", "R12", "the last event has the row's generation, state, token and owner",
            """
            SELECT i.app_id || '/' || i.install_id
            FROM (
                SELECT DISTINCT ON (app_id, install_id) app_id, install_id, generation_after, state, provider,
                    token_sha256, user_id
                FROM token_event WHERE event <> 'tokenMoved' ORDER BY app_id, install_id, id DESC) AS e
            JOIN installation i USING (app_id, install_id)
            WHERE i.generation <> e.generation_after OR i.state <> e.state OR i.provider <> e.provider
                OR i.token_sha256 IS NOT NULL AND i.token_sha256 IS DISTINCT FROM e.token_sha256
                OR i.user_id IS DISTINCT FROM e.user_id
            """),
        Invariant(
            "event-without-token", "R14", "no event holds a token, only its SHA-256",
            """
            SELECT 'event ' || min(id) || ' and ' || count(*) - 1 || ' more'
            FROM token_event e
            WHERE octet_length(token_sha256) <> 32 GROUP BY app_id
            UNION ALL
            SELECT 'event ' || w.id
            FROM (
                SELECT app_id, text, min(id) AS id
                FROM token_event CROSS JOIN LATERAL (VALUES (reason), (actor)) AS t (text)
                GROUP BY app_id, text) AS w
            JOIN token_holder h ON h.app_id = w.app_id AND h.token_sha256 = sha256(convert_to(w.text, 'UTF8'))
            """),
        // On Citus, a node's snapshot may be younger than the coordinator's: events of the last minute do not count.
        Invariant(
            "event-position", "27", "no event has the number of a future transaction",
            """
            WITH bound AS MATERIALIZED (
                SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS transaction_id
            )
            SELECT 'app ' || e.app_id || ', position ' || max(e.position) FROM token_event e CROSS JOIN bound b
            WHERE e.position >= b.transaction_id AND e.at < now() - interval '1 minute' GROUP BY e.app_id
            """),
        Invariant(
            "snapshot-owner", "20", "no settings snapshot belongs to a deleted installation",
            """
            SELECT s.app_id || '/' || s.install_id FROM settings_snapshot s
            WHERE NOT EXISTS (SELECT FROM installation i WHERE i.app_id = s.app_id AND i.install_id = s.install_id)
            GROUP BY s.app_id, s.install_id
            """),
        Invariant(
            "snapshot-times", "R2", "a settings snapshot was replaced after it arrived, and not after the present one",
            """
            SELECT s.app_id || '/' || s.install_id || ' snapshot ' || s.id
            FROM settings_snapshot s JOIN installation i USING (app_id, install_id)
            WHERE s.at > s.replaced_at OR s.replaced_at > i.snapshot_at
            """),
    ]
}

// MARK: - Schema

extension Invariant {
    private static let schema = [
        Invariant(
            "token-index", "R1", "a valid unique index keeps tokens unique",
            """
            SELECT 'token_holder_pkey' WHERE NOT EXISTS (
                SELECT FROM pg_index
                WHERE indexrelid = to_regclass('token_holder_pkey') AND indisunique AND indisvalid AND indisready)
            """),
        Invariant(
            "partitions", "R12, 58", "history, receipts and their sums have their partitions of the coming month",
            "SELECT parent || ' of ' || begins_at FROM missing_partitions('1 month')"),
        Invariant(
            "epoch", "27", "the change feed's epoch is this database's",
            """
            SELECT 'change_epoch' WHERE NOT EXISTS (
                SELECT FROM change_epoch JOIN database_identity USING (identity))
            """),
    ]
}

/// Tokens beside the main ones.
extension Invariant {
    static let typedTokens = [
        Invariant(
            "typed-token-holder", "118", "a typed token has one holder, whatever its names are",
            """
            SELECT app_id || '/' || min(install_id) || ' and ' || max(install_id) || ' have the same ' || kind
            FROM typed_token GROUP BY app_id, kind, token_sha256 HAVING min(install_id) <> max(install_id)
            """),
        Invariant(
            "typed-token-binding", "119", "an installation with typed tokens is of APNs, and active or suspect",
            """
            SELECT t.app_id || '/' || t.install_id FROM typed_token t
            WHERE NOT EXISTS (
                SELECT FROM installation i
                WHERE i.app_id = t.app_id AND i.install_id = t.install_id AND i.provider IN ('apns', 'apnsSandbox')
                    AND i.state IN ('active', 'suspect'))
            GROUP BY t.app_id, t.install_id
            """),
        Invariant(
            "typed-token-count", "116", "an installation has at most 16 typed tokens that have not expired",
            """
            SELECT app_id || '/' || install_id FROM typed_token WHERE coalesce(expires_at > now(), true)
            GROUP BY app_id, install_id HAVING count(*) > \(Int64(SentTypedToken.countMax))
            """),
        Invariant(
            "typed-token-digest", "118", "the digest of a typed token is its SHA-256",
            """
            SELECT app_id || '/' || install_id || ' ' || kind FROM typed_token
            WHERE token_sha256 <> sha256(convert_to(token, 'UTF8'))
            """),
        Invariant(
            "held-token", "R9", "a typed token that the breaker for feedback holds can be released",
            """
            SELECT t.app_id || '/' || t.install_id || ' ' || t.kind FROM typed_token t
            WHERE t.held AND coalesce(t.expires_at > now(), true) AND NOT EXISTS (
                SELECT FROM feedback_breaker b
                WHERE b.app_id = t.app_id AND b.provider = t.provider AND b.kind = t.kind::text
                    AND b.held_since <= t.held_at)
            """),
    ]
}

extension Invariant {
    static let cleanUp = [
        Invariant(
            "cleanup-result", "R11", "an app that the breaker stopped was not changed",
            """
            SELECT 'run ' || run_id || ', app ' || app_id FROM cleanup_result
            WHERE refused AND superseded + unregistered + session_ended + stale + purged > 0
            """)
    ]
}

extension Invariant {
    /// On Citus only. It may break by a migration that creates a table.
    static let distribution = Invariant(
        "distribution", "decision 10",
        "every table with rows of apps is distributed (after stopping all services, distribute repairs it)",
        """
        SELECT t.name FROM unnest(\(Distribution.tables + Distribution.referenceTables)) AS t (name)
        WHERE NOT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = to_regclass(t.name))
        """)
}
