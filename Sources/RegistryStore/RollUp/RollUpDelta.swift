import PostgresClient
import PushRegistry

/// The changes of one transaction in the roll-up, summed by cell and session expiry: of all installations, and of those
/// with a choice about a topic.
struct RollUpDelta: Sendable {
    static let named = [
        NamedStatement("append", append)
    ]

    struct Key: Hashable {
        /// As `TopicChoices` codes a choice; 0 for all installations.
        let topic: Int32
        let cell: Int64
        /// Of an active installation in a session that expires.
        let expiresAt: Timestamp?
    }

    struct Change: Hashable {
        /// Of installations whose state is `active`.
        var active: Int64 = 0
        var installations: Int64 = 0
    }

    private(set) var changes: [Key: Change] = [:]

    /// Adds an installation to its cell, or removes it.
    mutating func add(_ installation: Installation, in cell: Int64, step: Int64) {
        let isActive = installation.state == .active
        add(
            Change(active: isActive ? step : 0, installations: step), in: cell,
            expiringAt: isActive ? installation.owner?.session?.expiresAt : nil, topics: installation.topics)
    }

    /// Adds an active installation.
    mutating func addActive(in cell: Int64, expiringAt expiresAt: Timestamp?, topics: TopicChoices) {
        add(Change(active: 1, installations: 1), in: cell, expiringAt: expiresAt, topics: topics)
    }

    /// - Parameters:
    ///   - expiresAt: of the session of an active installation.
    ///   - topics: the installation's choices.
    ///   - endsChoices: whether the installation stays, without its choices.
    mutating func remove(
        _ lost: LostCount, from cell: Int64, expiringAt expiresAt: Timestamp?, topics: TopicChoices,
        endsChoices: Bool
    ) {
        let change =
            switch lost {
            case .none: Change()
            case .active: Change(active: -1)
            case .installation: Change(installations: -1)
            }
        let expiresAt = lost == .active ? expiresAt : nil
        add(change, in: cell, expiringAt: expiresAt, topics: endsChoices ? TopicChoices() : topics)
        guard endsChoices else { return }
        for topic in topics.codes {
            add(Change(active: change.active, installations: -1), to: topic, in: cell, expiringAt: expiresAt)
        }
    }

    /// Moves an active installation.
    mutating func move(
        from old: Int64, expiringAt oldExpiry: Timestamp?, to new: Int64, expiringAt newExpiry: Timestamp?,
        topics: TopicChoices
    ) {
        add(Change(active: -1, installations: -1), in: old, expiringAt: oldExpiry, topics: topics)
        add(Change(active: 1, installations: 1), in: new, expiringAt: newExpiry, topics: topics)
    }

    private mutating func add(
        _ change: Change, in cell: Int64, expiringAt expiresAt: Timestamp?, topics: TopicChoices
    ) {
        add(change, to: 0, in: cell, expiringAt: expiresAt)
        guard !topics.isEmpty else { return }
        for topic in topics.codes { add(change, to: topic, in: cell, expiringAt: expiresAt) }
    }

    private mutating func add(_ change: Change, to topic: Int32, in cell: Int64, expiringAt expiresAt: Timestamp?) {
        let key = Key(topic: topic, cell: cell, expiresAt: expiresAt)
        changes[key, default: Change()].active += change.active
        changes[key, default: Change()].installations += change.installations
    }

    /// Nil where all changes cancel out.
    func statement(in app: AppNumber) -> PostgresStatement? {
        let rows = changes.filter { $0.value != Change() }
        guard !rows.isEmpty else { return nil }
        return PostgresStatement(
            Self.append, app.rawValue, rows.map(\.key.topic), rows.map(\.key.cell),
            rows.map { $0.key.expiresAt?.postgres },
            rows.map(\.value.active), rows.map(\.value.installations))
    }

    private static let append = PreparedSQL(
        serving: "Every call that changes installations under locks (R13): writes deltas of counts.",
        values: InsertedValues(
            "INSERT INTO rollup_delta (app_id, transaction_id, topic, cell, expires_at, active, installations)",
            row: "$1, \(sql: AppSource(isDistributed: true).transactionID), $2, $3, $4, $5, $6", scalars: 1, arrays: 5)
    ) { source in
        let rows: PostgresSQL = """
            unnest($2::integer[], $3::bigint[], $4::timestamptz[], $5::bigint[], $6::bigint[])
                AS k (topic, cell, expires_at, active, installations)
            """
        return """
            INSERT INTO rollup_delta (app_id, transaction_id, topic, cell, expires_at, active, installations)
            SELECT \(sql: source.app), \(sql: source.transactionID), topic, cell, expires_at, active, installations
            FROM \(sql: source.beside(rows))
            """
    }

    /// An INSERT: the deltas of changed installations, of all and of each topic about which they have a choice.
    ///
    /// - Parameters:
    ///   - app: an expression.
    ///   - rows: a SELECT of `topics`, `cell`, `expires_at`, `active` and `installations`.
    ///   - choices: how the installations with a choice change, if that is not `installations`.
    static func insert(
        into app: PostgresSQL = "$1", from rows: PostgresSQL, choices: PostgresSQL = "r.installations"
    ) -> PostgresSQL {
        """
        INSERT INTO rollup_delta (app_id, transaction_id, topic, cell, expires_at, active, installations)
            SELECT \(sql: app), \(sql: transactionID), topic, cell, expires_at, sum(active), sum(installations)
            FROM (
                SELECT t.topic, r.cell, r.expires_at, r.active,
                    CASE WHEN t.topic = 0 THEN r.installations ELSE \(sql: choices) END AS installations
                FROM (\(sql: rows)) AS r CROSS JOIN LATERAL unnest(0 || r.topics) AS t (topic)) AS d
            GROUP BY topic, cell, expires_at HAVING sum(active) <> 0 OR sum(installations) <> 0
        """
    }

    /// The writing transaction, as deltas name it.
    static let transactionID: PostgresSQL = "(SELECT pg_current_xact_id()::text::bigint)"
}

/// The count of the roll-up that an installation leaves.
enum LostCount {
    case none
    /// It was active, and has another state now.
    case active
    /// It was not active, and is deleted.
    case installation
}
