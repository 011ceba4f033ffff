import PostgresClient
import PushRegistry

/// The changes of one transaction in the roll-up, summed by cell and session expiry.
struct RollUpDelta: Sendable {
    static let named = [
        NamedStatement("append", append)
    ]

    struct Key: Hashable {
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

    /// Counts an installation in its cell, or no longer.
    mutating func add(_ installation: Installation, in cell: Int64, step: Int64) {
        let isActive = installation.state == .active
        let key = Key(cell: cell, expiresAt: isActive ? installation.owner?.session?.expiresAt : nil)
        changes[key, default: Change()].active += isActive ? step : 0
        changes[key, default: Change()].installations += step
    }

    /// - Parameter expiresAt: of the session of an active installation.
    mutating func remove(_ lost: LostCount, from cell: Int64, expiringAt expiresAt: Timestamp?) {
        switch lost {
        case .none: break
        case .active: changes[Key(cell: cell, expiresAt: expiresAt), default: Change()].active -= 1
        case .installation: changes[Key(cell: cell, expiresAt: nil), default: Change()].installations -= 1
        }
    }

    /// Moves an active installation.
    mutating func move(
        from old: Int64, expiringAt oldExpiry: Timestamp?, to new: Int64, expiringAt newExpiry: Timestamp?
    ) {
        for (key, step) in [(Key(cell: old, expiresAt: oldExpiry), -1), (Key(cell: new, expiresAt: newExpiry), 1)] {
            changes[key, default: Change()].active += Int64(step)
            changes[key, default: Change()].installations += Int64(step)
        }
    }

    /// Nil where all changes cancel out.
    func statement(in app: AppNumber) -> PostgresStatement? {
        let rows = changes.filter { $0.value != Change() }
        guard !rows.isEmpty else { return nil }
        return PostgresStatement(
            Self.append, app.rawValue, rows.map(\.key.cell), rows.map { $0.key.expiresAt?.postgres },
            rows.map(\.value.active), rows.map(\.value.installations))
    }

    private static let append = PreparedSQL(
        serving: "Every call that changes installations under locks (R13): writes deltas of counts.",
        """
        INSERT INTO rollup_delta (app_id, transaction_id, cell, expires_at, active, installations)
        SELECT $1, \(sql: transactionID), cell, expires_at, active, installations
        FROM unnest($2::bigint[], $3::timestamptz[], $4::bigint[], $5::bigint[])
            AS k (cell, expires_at, active, installations)
        """)

    /// The writing transaction, as deltas name it.
    static let transactionID: PostgresSQL = "(SELECT pg_current_xact_id()::text::bigint)"
}

/// The count of the roll-up that an installation leaves.
enum LostCount {
    case none
    /// It was active, and is something else now.
    case active
    /// It was not active, and is deleted.
    case installation
}
