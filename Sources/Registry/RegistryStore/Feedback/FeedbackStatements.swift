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

    /// As `readHolders`, and the installations `$4`, each once.
    private static let read = reading(wanted)

    /// The transaction has locked their tokens (`HolderStatements.lock`), so no token moves meanwhile.
    private static let lock = locking(wanted)

    private static let wanted: PostgresSQL = """
        SELECT h.install_id
        FROM unnest($2::text[]::provider[], $3::bytea[]) AS k (provider, token_sha256)
            JOIN token_holder h ON \(sql: isHeld)
        UNION SELECT k.install_id FROM unnest($4::text[]) AS k (install_id)
        """

    private static let isHeld: PostgresSQL = """
        h.app_id = $1 AND h.provider = k.provider AND h.token_sha256 = k.token_sha256
        """

    private static let isWanted: PostgresSQL = "i.app_id = $1 AND i.install_id = k.install_id"

    /// - Parameter wanted: a SELECT of ids.
    private static func reading(_ wanted: PostgresSQL) -> PreparedSQL {
        PreparedSQL(
            """
            SELECT \(sql: InstallationColumns.list)
            FROM (\(sql: wanted) ORDER BY install_id) AS k JOIN installation i ON \(sql: isWanted)
            """)
    }

    /// Locks in the order of ids.
    private static func locking(_ wanted: PostgresSQL) -> PreparedSQL {
        PreparedSQL(
            """
            SELECT i.* FROM (\(sql: wanted) ORDER BY install_id) AS k
            CROSS JOIN LATERAL (\(sql: InstallationStatements.locked)) AS i
            """)
    }

    // MARK: Typed tokens

    /// POST …/feedback (R9): the installations that have a token of the kinds `$2` and digests `$3`, and the
    /// installations `$4`.
    private static let readTyped = reading(wantedTyped)

    private static let lockTyped = locking(wantedTyped)

    private static let readSets = PreparedSQL(
        """
        SELECT \(sql: TypedTokenStatements.columns)
        FROM (\(sql: wantedTyped)) AS w
            JOIN typed_token t ON t.app_id = $1 AND t.install_id = w.install_id
        """)

    private static let wantedTyped: PostgresSQL = """
        SELECT h.install_id
        FROM unnest($2::text[]::token_kind[], $3::bytea[]) AS k (kind, token_sha256)
        CROSS JOIN LATERAL (
            SELECT install_id FROM typed_token
            WHERE app_id = $1 AND kind = k.kind AND token_sha256 = k.token_sha256 OFFSET 0) AS h
        UNION SELECT k.install_id FROM unnest($4::text[]) AS k (install_id)
        """

    /// The installations before their sets: a set that changes in between belongs to another revision.
    static func read(_ subjects: LockedFeedback.TypedSubjects, in app: AppNumber, locking: Bool) -> [PostgresStatement]
    {
        let (addresses, ids) = (Array(subjects.addresses), subjects.installIDs.map(\.rawValue))
        return [locking ? lockTyped : readTyped, readSets].map {
            $0(app.rawValue, addresses.map(\.kind.rawValue), addresses.map(\.sha256), ids)
        }
    }

    // MARK: Statements

    /// Items that can change nothing cost no look-up. A token that occurs twice costs one.
    static func read(_ feedback: Feedback) -> PostgresStatement {
        let (addresses, ids) = subjects(of: feedback)
        let (providers, digests) = (addresses.map(\.provider.rawValue), addresses.map(\.sha256))
        return feedback.namesInstallations
            ? read(feedback.app.rawValue, providers, digests, ids.map(\.rawValue))
            : readHolders(feedback.app.rawValue, providers, digests)
    }

    /// Locks tokens, then installations.
    static func lock(_ feedback: Feedback) -> [PostgresStatement] {
        let (addresses, ids) = subjects(of: feedback)
        return [
            HolderStatements.lock(addresses, of: ids, in: feedback.app),
            lock(
                feedback.app.rawValue, addresses.map(\.provider.rawValue), addresses.map(\.sha256),
                ids.map(\.rawValue)),
        ]
    }

    private static func subjects(of feedback: Feedback) -> ([TokenAddress], [InstallID]) {
        let items = feedback.items.filter { $0.needsInstallation && $0.kind == nil }
        return (Array(Set(items.flatMap(\.addresses))), Array(Set(items.compactMap(\.installID))))
    }
}
