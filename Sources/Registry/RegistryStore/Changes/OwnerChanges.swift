import PostgresClient
import PushRegistry

/// The bindings to users that a transaction begins and ends, as rows of `installation_owner`. The installation's lock
/// protects its rows.
package struct OwnerChanges: Sendable {
    private var begun: [(installID: InstallID, owner: Owner)] = []
    private var ended: [(installID: InstallID, userID: UserID)] = []

    package init() {}

    package mutating func add(from before: Owner?, to after: Owner?, on installID: InstallID) {
        if let before, before.userID != after?.userID { ended.append((installID, before.userID)) }
        guard let after, before?.userID != after.userID || before?.session?.id != after.session?.id else { return }
        begun.append((installID, after))
    }

    /// Nil if no binding begins.
    ///
    /// - Parameter number: of the transaction.
    package func begun(in app: AppNumber, number: Int64) -> PostgresStatement? {
        guard !begun.isEmpty else { return nil }
        return OwnerStatements.begin(
            app.rawValue, number, begun.map(\.owner.userID.rawValue), begun.map(\.installID.rawValue),
            begun.map { $0.owner.session?.id.rawValue })
    }

    /// Nil if no binding ends.
    func ended(in app: AppNumber, at now: Timestamp) -> PostgresStatement? {
        guard !ended.isEmpty else { return nil }
        return OwnerStatements.end(
            app.rawValue, now.postgres, ended.map(\.userID.rawValue), ended.map(\.installID.rawValue))
    }
}

/// The SQL of bindings to users: the table `installation_owner`.
enum OwnerStatements {
    /// PUT …/installations/{installId} (R4): begins bindings.
    /// `$2` is the number. The row of a returning user exists already.
    static let begin = PreparedSQL(
        """
        INSERT INTO installation_owner (app_id, number, user_id, install_id, session_id)
        SELECT \(sql: AppRow.app), $2::bigint, k.user_id, k.install_id, k.session_id
        FROM \(sql: AppRow.beside("unnest($3::text[], $4::text[], $5::text[]) AS k (user_id, install_id, session_id)"))
        ON CONFLICT (app_id, user_id, install_id)
        DO UPDATE SET number = excluded.number, session_id = excluded.session_id, left_at = NULL
        """)

    /// Every call that ends a binding (R4, R6, R7): writes when bindings ended.
    /// `$2` is the time. The row stays: an erasure searches for it.
    static let end = PreparedSQL(
        """
        UPDATE installation_owner o SET left_at = $2
        FROM unnest($3::text[], $4::text[]) AS k (user_id, install_id)
        WHERE o.app_id = $1 AND o.user_id = k.user_id AND o.install_id = k.install_id
        """)
}
