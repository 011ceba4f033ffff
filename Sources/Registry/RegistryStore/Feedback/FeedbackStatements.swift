import PostgresClient
import PushRegistry

/// The SQL of `POST …/feedback`, set-based: a statement serves a whole call. `$1` is the app.
enum FeedbackStatements {
    // MARK: Reading

    // Thousands of rows are read, and later written, in the order of their keys: neighbours share pages of the indexes.

    /// POST …/feedback (R9): reads the holders of tokens, at one moment.
    /// `$2` and `$3` are the providers and digests.
    private static let readHolders = PreparedSQL(
        """
        SELECT \(sql: InstallationColumns.list)
        FROM (
            SELECT h.install_id
            FROM (
                SELECT * FROM unnest($2::text[]::provider[], $3::bytea[]) AS k (provider, token_sha256)
                ORDER BY provider, token_sha256) AS k
                JOIN token_holder h ON \(sql: isHeld)
            ORDER BY h.install_id) AS k
            JOIN installation i ON \(sql: isWanted)
        """)

    /// As `readHolders`, with the installations `$4`, and the holders of typed tokens of the kinds `$5` and digests
    /// `$6`; each once.
    private static let read = PreparedSQL(
        """
        SELECT \(sql: InstallationColumns.list)
        FROM (\(sql: wanted) ORDER BY install_id) AS k JOIN installation i ON \(sql: isWanted)
        """)

    /// Locks all of them in the order of ids. The transaction has locked the tokens before (`HolderStatements.lock`),
    /// so no main token moves meanwhile.
    private static let lock = PreparedSQL(
        """
        SELECT i.* FROM (\(sql: wanted) ORDER BY install_id) AS k
        CROSS JOIN LATERAL (\(sql: InstallationStatements.locked)) AS i
        """)

    private static let readSets = PreparedSQL(
        """
        SELECT \(sql: TypedTokenStatements.columns)
        FROM (\(sql: wanted)) AS w
            JOIN typed_token t ON t.app_id = $1 AND t.install_id = w.install_id
        """)

    private static let wanted: PostgresSQL = """
        SELECT h.install_id
        FROM unnest($2::text[]::provider[], $3::bytea[]) AS k (provider, token_sha256)
            JOIN token_holder h ON \(sql: isHeld)
        UNION SELECT h.install_id
        FROM unnest($5::text[]::token_kind[], $6::bytea[]) AS k (kind, token_sha256)
        CROSS JOIN LATERAL (
            SELECT install_id FROM typed_token
            WHERE app_id = $1 AND kind = k.kind AND token_sha256 = k.token_sha256 OFFSET 0) AS h
        UNION SELECT k.install_id FROM unnest($4::text[]) AS k (install_id)
        """

    private static let isHeld: PostgresSQL = """
        h.app_id = $1 AND h.provider = k.provider AND h.token_sha256 = k.token_sha256
        """

    private static let isWanted: PostgresSQL = "i.app_id = $1 AND i.install_id = k.install_id"

    // MARK: Statements

    /// Items that can change nothing cost no look-up. A token that occurs twice costs one.
    static func read(_ feedback: Feedback) -> PostgresStatement {
        let (addresses, ids) = subjects(of: feedback)
        return feedback.namesInstallations
            ? statement(read, addresses, ids, in: feedback.app)
            : readHolders(feedback.app.rawValue, addresses.map(\.provider.rawValue), addresses.map(\.sha256))
    }

    /// The installations before their sets: a set that changes in between belongs to another revision.
    static func read(_ typed: LockedFeedback.TypedSubjects, in app: AppNumber) -> [PostgresStatement] {
        [statement(read, typed: typed, in: app), statement(readSets, typed: typed, in: app)]
    }

    /// Locks tokens, then all installations, and reads the sets of those with typed tokens.
    static func lock(_ feedback: Feedback, _ typed: LockedFeedback.TypedSubjects) -> [PostgresStatement] {
        let (addresses, ids) = subjects(of: feedback)
        return [
            HolderStatements.lock(addresses, of: ids, in: feedback.app),
            statement(lock, addresses, ids, typed: typed, in: feedback.app),
            statement(readSets, typed: typed, in: feedback.app),
        ]
    }

    private static func statement(
        _ sql: PreparedSQL, _ addresses: [TokenAddress] = [], _ ids: [InstallID] = [],
        typed: LockedFeedback.TypedSubjects = .init(), in app: AppNumber
    ) -> PostgresStatement {
        let tokens = Array(typed.addresses)
        return sql(
            app.rawValue, addresses.map(\.provider.rawValue), addresses.map(\.sha256),
            (ids + typed.installIDs).map(\.rawValue), tokens.map(\.kind.rawValue), tokens.map(\.sha256))
    }

    private static func subjects(of feedback: Feedback) -> ([TokenAddress], [InstallID]) {
        let items = feedback.items.filter { $0.needsInstallation && $0.kind == nil }
        return (Array(Set(items.flatMap(\.addresses))), Array(Set(items.compactMap(\.installID))))
    }
}
