import PostgresClient
import PushRegistry

/// The bindings to users that a transaction begins and ends, as rows of `installation_owner`. The installation's lock
/// protects its rows.
struct OwnerChanges: Sendable {
    private var begun: [(installID: InstallID, owner: Owner)] = []
    private var ended: [(installID: InstallID, userID: UserID)] = []

    mutating func add(from before: Installation?, to after: Installation) {
        add(from: before?.owner, to: after.owner, on: after.key.installID)
    }

    mutating func add(from before: Owner?, to after: Owner?, on installID: InstallID) {
        if let before, before.userID != after?.userID { ended.append((installID, before.userID)) }
        guard let after, before?.userID != after.userID || before?.session?.id != after.session?.id else { return }
        begun.append((installID, after))
    }

    /// Nil if no binding begins.
    func begun(in app: AppNumber) -> PostgresStatement? {
        guard !begun.isEmpty else { return nil }
        return PostgresStatement(
            OwnerStatements.begin, app.rawValue, begun.map(\.owner.userID.rawValue), begun.map(\.installID.rawValue),
            begun.map { $0.owner.session?.id.rawValue })
    }

    /// Nil if no binding ends.
    func ended(in app: AppNumber, at now: Timestamp) -> PostgresStatement? {
        guard !ended.isEmpty else { return nil }
        return PostgresStatement(
            OwnerStatements.end, app.rawValue, now.postgres, ended.map(\.userID.rawValue),
            ended.map(\.installID.rawValue))
    }
}

/// The SQL of bindings to users: the table `installation_owner`.
enum OwnerStatements {
    static let named = [
        NamedStatement("begin", begin), NamedStatement("end", end),
    ]

    /// The row of a returning user exists already.
    static let begin = PreparedSQL(
        serving: "PUT …/installations/{installId} (R4): begins bindings.",
        values: InsertedValues(
            "INSERT INTO installation_owner (app_id, user_id, install_id, session_id)", row: "$1, $2, $3, $4",
            then: onReturn, scalars: 1, arrays: 3)
    ) { source in
        """
        INSERT INTO installation_owner (app_id, user_id, install_id, session_id)
        SELECT \(sql: source.app), k.user_id, k.install_id, k.session_id
        FROM \(sql: source.beside("unnest($2::text[], $3::text[], $4::text[]) AS k (user_id, install_id, session_id)"))
        \(sql: onReturn)
        """
    }

    private static let onReturn: PostgresSQL = """
        ON CONFLICT (app_id, user_id, install_id) DO UPDATE SET session_id = excluded.session_id, left_at = NULL
        """

    /// `$2` is the time. The row stays: an erasure searches for it.
    static let end = PreparedSQL(
        serving: "Every call that ends a binding (R4, R6, R7): writes when bindings ended.",
        """
        UPDATE installation_owner o SET left_at = $2
        FROM unnest($3::text[], $4::text[]) AS k (user_id, install_id)
        WHERE o.app_id = $1 AND o.user_id = k.user_id AND o.install_id = k.install_id
        """)
}
