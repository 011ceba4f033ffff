import PostgresClient
import PushRegistry

/// The SQL of the sums of messages. `$1` is the app, `$2` the message unless a comment says otherwise.
package enum MessageSumStatements {
    private static let counters: [PostgresSQL] = ["targeted", "accepted", "failed", "delivered", "opened", "dismissed"]
    private static let list = counters.joined(separator: ", ")
    private static let totals = counters.map { counter -> PostgresSQL in
        "coalesce(sum(c.\(sql: counter)), 0)::bigint"
    }.joined(separator: ", ")

    private static func sums(_ counters: [PostgresSQL], of table: PostgresSQL) -> PostgresSQL {
        counters.map { counter -> PostgresSQL in
            "sum(\(sql: table).\(sql: counter))::bigint AS \(sql: counter)"
        }.joined(separator: ", ")
    }

    // MARK: Reading

    /// One row for each cell, including the changes that are not folded yet.
    ///
    /// An installation that reports an event was targeted, even if the process that handed out its row was killed
    /// before it counted the row. A verdict without a receipt counts in the installation's present cell. There may be
    /// more verdicts than targets in that cell: the excess does not count (fine print 74).
    private static func cells(_ app: PostgresSQL, _ message: PostgresSQL) -> PostgresSQL {
        """
        SELECT cell, greatest(targeted, accepted, delivered) AS targeted, accepted,
            least(failed, greatest(targeted, accepted, delivered)) AS failed, delivered, opened, dismissed
        FROM (
            SELECT s.cell, \(sql: sums(counters, of: "s"))
            FROM (
                SELECT cell, \(sql: list) FROM message_sum WHERE app_id = \(sql: app) AND message = \(sql: message)
                UNION ALL
                SELECT cell, \(sql: list) FROM message_delta
                WHERE app_id = \(sql: app) AND message = \(sql: message) AND \(sql: isBehindHorizon(of: app))
            ) AS s
            GROUP BY s.cell) AS c
        """
    }

    /// A condition on a row of message_delta. Rows before the horizon are deleted; a long snapshot may keep them from
    /// being vacuumed.
    private static func isBehindHorizon(of app: PostgresSQL) -> PostgresSQL {
        "transaction_id >= coalesce((SELECT message_horizon FROM rollup_state WHERE app_id = \(sql: app)), 0)"
    }

    /// GET …/messages/{message} (fine print 56): sums the counts of a message.
    static let counts = PreparedSQL(
        """
        SELECT \(sql: totals), clock_timestamp()
        FROM (\(sql: cells("$1", "$2"))) AS c
        """)

    /// Returns the values, then the counts, then the time.
    static func groups(of message: MessageNumber, by fields: [AudienceField], in app: AppNumber) -> PostgresStatement {
        let parts = fields.compactMap(Part.init)
        let joins = parts.compactMap(\.join).map { join -> PostgresSQL in
            """
             LEFT JOIN rollup_text \(sql: join.alias)
                ON \(sql: join.alias).app_id = r.app_id AND \(sql: join.alias).number = r.\(sql: join.column)
            """
        }
        let keys = parts.map(\.key).joined(separator: ", ")
        let order = parts.indices.map { PostgresSQL(trusted: "\($0 + 1) NULLS LAST") }.joined(separator: ", ")
        return """
            SELECT \(sql: parts.map(\.name).joined(separator: ", ")), \(sql: sums(counters, of: "c")), clock_timestamp()
            FROM (\(sql: cells("\(app.rawValue)", "\(message.rawValue)"))) AS c
            LEFT JOIN rollup_cell r ON r.app_id = \(app.rawValue) AND r.number = c.cell
            \(sql: joins.joined(separator: " "))
            GROUP BY \(sql: keys) ORDER BY sum(c.targeted) DESC, \(sql: order)
            """
    }

    /// A field by which cells are grouped.
    private struct Part {
        let key: PostgresSQL
        let name: PostgresSQL
        let join: (alias: PostgresSQL, column: PostgresSQL)?

        /// Nil for a field that cells do not have.
        init?(_ field: AudienceField) {
            switch field {
            case .provider: (key, name, join) = ("r.provider", "r.provider::text", nil)
            case .authorizationStatus:
                (key, name, join) = ("r.authorization_status", "r.authorization_status::text", nil)
            case .locale: (key, name, join) = ("locale.text", "locale.text", ("locale", "locale_number"))
            case .timeZone:
                let zone = ZoneOffsets.zone(of: "zone.text")
                (key, name, join) = (zone, zone, ("zone", "zone_number"))
            // Of several spellings the first one, as in the breakdown of an audience.
            case .osVersion:
                (key, name, join) = (
                    "r.version_number", "min(version.text) FILTER (WHERE r.version_number > 0)",
                    ("version", "spelling_number")
                )
            default: return nil
            }
        }
    }

    /// GET …/messages/{message}/timeline (fine print 56): sums the counts of buckets of `$3` seconds.
    /// Returns the number of the bucket since 1970, and its counts.
    static let timeline = PreparedSQL(
        """
        SELECT floor(extract(epoch FROM m.minute) / $3::bigint)::bigint, sum(m.delivered)::bigint,
            sum(m.opened)::bigint, sum(m.dismissed)::bigint
        FROM (
            SELECT minute, delivered, opened, dismissed FROM message_minute WHERE app_id = $1 AND message = $2
            UNION ALL
            SELECT minute, delivered, opened, dismissed FROM message_delta
            WHERE app_id = $1 AND message = $2 AND minute IS NOT NULL AND \(sql: isBehindHorizon(of: "$1"))) AS m
        GROUP BY 1
        """)

    // MARK: Counting and folding

    /// Every call that counts a message (fine print 55): writes changes of its sums.
    /// `$2` are the messages.
    static let append = PreparedSQL(
        """
        INSERT INTO message_delta (
            app_id, transaction_id, message, cell, minute, targeted, accepted, failed, delivered, opened, dismissed)
        SELECT \(sql: AppRow.app), pg_current_xact_id()::text::bigint, k.*
        FROM \(sql: AppRow.beside("""
            unnest($2::bigint[], $3::bigint[], $4::timestamptz[], $5::integer[], $6::integer[], $7::integer[],
                $8::integer[], $9::integer[], $10::integer[])
                AS k (message, cell, minute, targeted, accepted, failed, delivered, opened, dismissed)
            """))
        """)

    /// Service, every second; clean-up: lists the apps with changes that are not folded.
    package static let waiting = PreparedSQL(
        """
        SELECT s.app_id FROM rollup_state s WHERE EXISTS (
            SELECT FROM message_delta d WHERE d.app_id = s.app_id AND d.transaction_id >= s.message_horizon)
        """)

    /// Service, every second; clean-up: adds up to `$2` changes to the sums of messages.
    /// Returns how many were folded. Concurrent services fold different changes.
    package static let fold = PreparedSQL(
        """
        WITH taken AS MATERIALIZED (
            DELETE FROM message_delta d
            WHERE d.app_id = $1 AND d.ctid = ANY (ARRAY(
                SELECT ctid FROM message_delta WHERE app_id = $1 AND \(sql: isBehindHorizon(of: "$1"))
                LIMIT $2 FOR UPDATE SKIP LOCKED))
            RETURNING message, cell, minute, \(sql: list)
        ), summed AS (
            INSERT INTO message_sum AS s (app_id, message, cell, \(sql: list))
            SELECT $1, t.message, t.cell, \(sql: sums(counters, of: "t")) FROM taken t
            GROUP BY t.message, t.cell ORDER BY t.message, t.cell
            ON CONFLICT (app_id, message, cell) DO UPDATE SET \(sql: increase(counters))
        ), timed AS (
            INSERT INTO message_minute AS s (app_id, message, minute, delivered, opened, dismissed)
            SELECT $1, t.message, t.minute, \(sql: sums(Array(counters[3...]), of: "t")) FROM taken t
            WHERE t.minute IS NOT NULL GROUP BY t.message, t.minute ORDER BY t.message, t.minute
            ON CONFLICT (app_id, message, minute) DO UPDATE SET \(sql: increase(Array(counters[3...])))
        )
        SELECT count(*) FROM taken
        """)

    /// Service, every second; clean-up: stores from which transaction on changes are folded: the first one with a
    /// change, or the oldest one that was running before (`$2`, of `RollUpStatements.moment`), because it may still
    /// write changes. A fold of the roll-up that has locked the row goes first.
    package static let advance = PreparedSQL(
        """
        UPDATE rollup_state SET message_horizon = greatest(message_horizon, least($2, (
            SELECT min(transaction_id) FROM message_delta WHERE app_id = $1 AND \(sql: isBehindHorizon(of: "$1")))))
        WHERE app_id = $1
            AND app_id IN (SELECT app_id FROM rollup_state WHERE app_id = $1 FOR UPDATE SKIP LOCKED)
        """)

    private static func increase(_ counters: [PostgresSQL]) -> PostgresSQL {
        counters.map { counter -> PostgresSQL in
            "\(sql: counter) = s.\(sql: counter) + excluded.\(sql: counter)"
        }.joined(separator: ", ")
    }
}

/// The changes that one transaction makes to the sums of messages, by cell and minute.
struct MessageDelta: Sendable {
    private struct Key: Hashable {
        let message: MessageNumber
        let cell: Int64
        /// Nil for events without a time.
        let minute: Timestamp?
    }

    private static let minute: Int64 = 60_000_000

    private var changes: [Key: MessageCounts] = [:]

    /// The counts of each cell and minute.
    var all: [MessageCounts] { Array(changes.values) }

    mutating func count(_ event: MessageEvents, of message: MessageNumber, in cell: Int64, at time: Timestamp?) {
        let minute = time.map { Timestamp(microseconds: $0.microseconds / Self.minute * Self.minute) }
        changes[Key(message: message, cell: cell, minute: minute), default: MessageCounts()].count(event)
    }

    /// Counts rows that an export or a list handed out.
    mutating func count(targeted: Int, of message: MessageNumber, in cell: Int64) {
        changes[Key(message: message, cell: cell, minute: nil), default: MessageCounts()].targeted += Int64(targeted)
    }

    /// Nil without a change.
    func statement(in app: AppNumber) -> PostgresStatement? {
        guard !changes.isEmpty else { return nil }
        let (keys, counts) = (Array(changes.keys), Array(changes.values))
        return MessageSumStatements.append(
            app.rawValue, keys.map(\.message.rawValue), keys.map(\.cell), keys.map { $0.minute?.postgres },
            counts.map { Int32(clamping: $0.targeted) }, counts.map { Int32(clamping: $0.accepted) },
            counts.map { Int32(clamping: $0.failed) }, counts.map { Int32(clamping: $0.delivered) },
            counts.map { Int32(clamping: $0.opened) }, counts.map { Int32(clamping: $0.dismissed) })
    }
}
