import Basics
public import PostgresClient
public import PushRegistry

/// The SQL of the breaker for feedback: the table `feedback_breaker`. Its rows are locked after those of all
/// installations. `$1` is the app.
enum FeedbackBreakerStatements {
    private static let columns: PostgresSQL = """
        provider::text, kind, hour_began, dead, active, counted_at, held_since, last_held_at
        """

    /// POST …/feedback (R9): reads the counts of an app.
    static let read = PreparedSQL("SELECT \(sql: columns) FROM feedback_breaker WHERE app_id = $1")

    static let lock = PreparedSQL(
        "SELECT \(sql: columns) FROM feedback_breaker WHERE app_id = $1 ORDER BY provider, kind FOR UPDATE")

    /// The active installations of each provider, as of this statement.
    static let countActive = PreparedSQL(
        """
        SELECT c.provider::text, sum_counts(d.active)
        FROM (
            SELECT cell, active FROM rollup_cube WHERE app_id = $1 AND topic = 0
            UNION ALL
            SELECT cell, active FROM rollup_delta
            WHERE app_id = $1 AND topic = 0
                AND transaction_id >= (SELECT horizon FROM rollup_state WHERE app_id = $1)) AS d
        JOIN rollup_cell c ON c.app_id = $1 AND c.number = d.cell
        GROUP BY 1
        """)

    /// The typed tokens of kinds that are handed out, as of this statement, at most so many: an app may have millions.
    static func countTokens(_ counted: [FeedbackHour.Key: Int64], in app: AppNumber) -> PostgresStatement {
        let keys = Array(counted)
        return countTokensSQL(app.rawValue, keys.map(\.key.provider.rawValue), keys.map(\.key.kind), keys.map(\.value))
    }

    private static let countTokensSQL = PreparedSQL(
        """
        SELECT k.provider::text, k.kind::text, c.active
        FROM unnest($2::text[]::provider[], $3::text[]::token_kind[], $4::bigint[]) AS k (provider, kind, active_max)
        CROSS JOIN LATERAL (
            SELECT count(*) AS active FROM (
                SELECT FROM typed_token t
                    JOIN installation i ON i.app_id = $1 AND i.install_id = t.install_id
                    JOIN rollup_cell c ON c.app_id = $1 AND c.number = i.cell
                WHERE t.app_id = $1 AND t.kind = k.kind AND t.provider = k.provider AND NOT t.held
                    AND i.state = 'active' AND \(sql: RollUpLayer.reaches(RollUpLayer.ofToken))
                    AND coalesce(\(sql: RollUpLayer.expiresAt("i.session_expires_at")) > clock_timestamp(), true)
                LIMIT k.active_max) AS t) AS c
        """)

    /// POST …/feedback/release and …/restore: the installations from `$3` on that have held tokens of a provider.
    static let holdersOfHeld = PreparedSQL(
        """
        SELECT DISTINCT install_id FROM typed_token
        WHERE app_id = $1 AND provider = $2::text::provider AND held AND install_id > $3
        ORDER BY install_id LIMIT $4
        """)

    /// A dry run of the same calls: counts the held tokens of the provider `$2` that `LockedTokens.apply` changes.
    /// TypedOutageTests compares both. `$3` is NULL, or since when they are held.
    static let countHeld = PreparedSQL(
        """
        SELECT count(*) FROM typed_token
        WHERE app_id = $1 AND provider = $2::text::provider AND held
            AND coalesce(expires_at > clock_timestamp(), true)
            AND coalesce(coalesce(held_at, received_at) >= $3::timestamptz, true)
        """)

    /// A dry run of the same calls: counts the installations `$3` that still have the generations `$4`, as
    /// `FeedbackRepair.outcome` requires. FeedbackOutageTests compares both.
    static let countUnchanged = PreparedSQL(
        """
        SELECT count(*)
        FROM unnest($3::text[], $4::bigint[]) AS k (install_id, generation)
        CROSS JOIN LATERAL (
            SELECT generation, provider, state, epoch, registration_generation FROM installation
            WHERE app_id = $1 AND install_id = k.install_id OFFSET 0) AS i
        WHERE i.generation = k.generation AND i.provider = $2::text::provider
            AND (i.state <> 'unregistered' OR i.epoch <= i.registration_generation OR \(sql: wasActive))
        """)

    /// POST …/feedback/restore: the installations `$2` that were logged out since they registered, and were active
    /// before the event with the generation `$3`.
    static let keptAnonymous = PreparedSQL(
        """
        SELECT k.install_id
        FROM unnest($2::text[], $3::bigint[]) AS k (install_id, generation)
        CROSS JOIN LATERAL (
            SELECT epoch, registration_generation FROM installation
            WHERE app_id = $1 AND install_id = k.install_id OFFSET 0) AS i
        WHERE i.epoch > i.registration_generation AND \(sql: wasActive)
        """)

    /// A verdict adds one to the generation.
    private static let wasActive: PostgresSQL = """
        EXISTS (
                SELECT FROM token_event e
                WHERE e.app_id = $1 AND e.install_id = k.install_id AND e.generation_after = k.generation - 1
                    AND e.state = 'active')
        """

    /// Begins the counts of providers. Another transaction that does the same makes it fail.
    static let insertSQL = PreparedSQL(
        """
        INSERT INTO feedback_breaker (app_id, \(sql: CountedHour.layout.written.names))
        SELECT \(sql: AppRow.app), \(sql: CountedHour.layout.written.values)
        FROM \(sql: AppRow.beside(CountedHour.layout.columns.unnest(from: 2)))
        """)

    /// Adds to the counts. It fails (22012) if another transaction has begun an hour, or counted so many that the
    /// decisions of this one do not hold.
    static let updateSQL = PreparedSQL(
        """
        WITH written AS (
            UPDATE feedback_breaker b
            SET hour_began = k.hour_began, dead = b.dead - k.forgotten + k.added, active = k.active,
                counted_at = k.counted_at, held_since = least(b.held_since, k.held_since),
                last_held_at = greatest(b.last_held_at, k.last_held_at)
            FROM \(sql: CountedHour.layout.columns.unnest(from: 2))
            WHERE b.app_id = $1 AND b.provider = k.provider AND b.kind = k.kind
                AND b.hour_began = k.began_before
            RETURNING b.dead <= k.dead_max AS holds)
        SELECT 1 / (count(*) FILTER (WHERE holds) = cardinality($2))::integer FROM written
        """)

    /// The writes of the hours that a call has counted.
    static func write(
        _ hours: [FeedbackHour.Key: FeedbackHour], by breaker: FeedbackBreaker?, in app: AppNumber
    ) -> [PostgresStatement] {
        guard let breaker else { return [] }
        let rows = hours.filter { $0.value.added > 0 }.map { CountedHour(key: $0, hour: $1, breaker: breaker) }
            .sorted { ($0.key.provider.rawValue, $0.key.kind) < ($1.key.provider.rawValue, $1.key.kind) }
        let (known, new) = (rows.filter { $0.hour.stored != nil }, rows.filter { $0.hour.stored == nil })
        return [
            CountedHour.layout.statement(updateSQL, known, of: app),
            CountedHour.layout.statement(insertSQL, new, of: app),
        ].compactMap(\.self)
    }

    /// POST …/feedback/release and …/restore: closes the breaker, unless a verdict was held since.
    /// `$2` to `$4` are the provider, the kind and the last time at which one was held.
    static let close = PreparedSQL(
        """
        UPDATE feedback_breaker SET held_since = NULL, last_held_at = NULL
        WHERE app_id = $1 AND provider = $2::text::provider AND kind = $3 AND last_held_at = $4
        """)

    /// GET /readyz: the apps and providers of which a verdict was held within an hour.
    static let open = PreparedSQL(
        """
        SELECT DISTINCT app_id, provider::text FROM feedback_breaker
        WHERE last_held_at > clock_timestamp() - interval '1 hour'
        """)
}

/// An hour that a call has counted, as a row.
struct CountedHour: Sendable {
    let key: FeedbackHour.Key
    let hour: FeedbackHour
    let breaker: FeedbackBreaker

    static let layout = RowLayout<CountedHour>(
        keys: [
            .init("began_before", "timestamptz") { $0.hour.stored?.began.postgres },
            .init("forgotten", "bigint") { $0.hour.forgotten },
            .init("added", "bigint") { $0.hour.added },
            .init("dead_max", "bigint") { $0.hour.deadMax(of: $0.breaker) },
        ],
        written: [
            .init("provider", "text", cast: "provider") { $0.key.provider.rawValue },
            .init("kind", "text") { $0.key.kind },
            .init("hour_began", "timestamptz") { $0.hour.began.postgres },
            .init("dead", "bigint") { $0.hour.dead },
            .init("active", "bigint") { $0.hour.active },
            .init("counted_at", "timestamptz") { $0.hour.countedAt?.postgres },
            .init("held_since", "timestamptz") { $0.hour.heldAt?.postgres },
            .init("last_held_at", "timestamptz") { $0.hour.heldAt?.postgres },
        ])
}

/// A row of `feedback_breaker`.
struct BreakerRow: Sendable {
    let key: FeedbackHour.Key
    let stored: FeedbackHour.Stored
    let heldSince: Timestamp?

    init(_ row: PostgresRow) throws {
        var reader = ColumnReader(row)
        key = FeedbackHour.Key(try reader.nextLabel(), kind: try reader.next())
        let (began, dead) = (try reader.next(Timestamp.self), try reader.next(Int64.self))
        let (active, countedAt) = (try reader.next(Int64?.self), try reader.next(Timestamp?.self))
        heldSince = try reader.next()
        stored = FeedbackHour.Stored(
            began: began, dead: dead, active: active, countedAt: countedAt, lastHeldAt: try reader.next())
    }
}

/// The breakers for feedback that have held a verdict within an hour, for `GET /readyz`. All loops of a process share
/// them.
public final class OpenBreakers: Sendable {
    private struct Open: Sendable {
        let app: AppNumber
        let provider: String
    }

    private let last = Locked<[Open]>([])

    public init() {}

    /// Reads those of all apps. On Citus the statement waits for every node, also for one that hangs.
    ///
    /// - Throws: `PostgresError`: the last ones stay.
    public func refresh(_ postgres: PostgresClient) async throws {
        let rows = try await postgres.read(FeedbackBreakerStatements.open())
        let open = try rows.map { Open(app: AppNumber(try $0.decode(0)), provider: try $0.decode(1)) }
        last.withLock { $0 = open }
    }

    /// Those of the last refresh, as `feedback:<app>:<provider>`. One of any kind of tokens opens its provider.
    public func names(of apps: DirectorySnapshot) -> [String] {
        last.withLock(\.self).compactMap { open in
            apps.app(open.app).map { "feedback:\($0.id):\(open.provider)" }
        }.sorted()
    }
}
