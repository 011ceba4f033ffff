import PostgresClient
import PushRegistry

/// The SQL of feedback, set-based.
enum FeedbackStatements {
    /// Locks, in the order of their keys as registrations do, the installations that are named and those that hold the tokens.
    private static let lockSQL = PreparedSQL(
        """
        WITH wanted AS MATERIALIZED (
            SELECT i.install_id FROM unnest($2::text[]) AS k (install_id)
            JOIN installation i ON i.app_id = $1 AND i.install_id = k.install_id
            UNION
            SELECT i.install_id FROM unnest($3::text[], $4::bytea[]) AS t (provider, token_sha256)
            JOIN installation i ON \(sql: holdsToken)
        )
        SELECT \(sql: InstallationColumns.list)
        FROM wanted w JOIN installation i ON i.app_id = $1 AND i.install_id = w.install_id
        ORDER BY i.app_id, i.install_id
        FOR UPDATE OF i
        """)

    /// The same where no installation is named, as in most feedback: without a second look-up of each row.
    private static let lockHoldersSQL = PreparedSQL(
        """
        SELECT \(sql: InstallationColumns.list)
        FROM unnest($2::text[], $3::bytea[]) AS t (provider, token_sha256)
        JOIN installation i ON \(sql: holdsToken)
        ORDER BY i.app_id, i.install_id
        FOR UPDATE OF i
        """)

    /// Whether there is any of these, named or by its token.
    private static let existsSQL = PreparedSQL(
        """
        SELECT EXISTS (
                SELECT FROM unnest($2::text[]) AS k (install_id)
                JOIN installation i ON i.app_id = $1 AND i.install_id = k.install_id)
            OR EXISTS (
                SELECT FROM unnest($3::text[], $4::bytea[]) AS t (provider, token_sha256)
                JOIN installation i ON \(sql: holdsToken))
        """)

    private static let holdsToken: PostgresSQL =
        "i.app_id = $1 AND i.provider = t.provider::provider AND i.token_sha256 = t.token_sha256"

    /// R9: the verdict's state, and with it a new generation. The registration's generation stays.
    private static let judgeSQL = PreparedSQL(
        """
        UPDATE installation i
        SET state = k.state::installation_state, generation = k.generation, state_changed_at = k.state_changed_at
        FROM unnest($1::integer[], $2::text[], $3::text[], $4::bigint[], $5::timestamptz[])
            AS k (app_id, install_id, state, generation, state_changed_at)
        WHERE i.app_id = k.app_id AND i.install_id = k.install_id
        """)

    /// What can change nothing costs no look-up, and a token that occurs twice costs one.
    static func lock(_ feedback: Feedback) -> PostgresStatement {
        let items = feedback.items.filter(\.canMatter)
        let installIDs = items.compactMap { $0.installID?.rawValue }
        let addresses = Array(Set(items.flatMap(\.addresses)))
        let (providers, digests) = (addresses.map(\.provider.rawValue), addresses.map(\.sha256))
        return installIDs.isEmpty
            ? PostgresStatement(lockHoldersSQL, feedback.app.rawValue, providers, digests)
            : PostgresStatement(lockSQL, feedback.app.rawValue, installIDs, providers, digests)
    }

    /// Whether anything is there of what `lock` did not find.
    static func exists(_ missing: MissingSubjects, in app: AppNumber) -> PostgresStatement {
        PostgresStatement(
            existsSQL, app.rawValue, missing.installIDs.map(\.rawValue), missing.addresses.map(\.provider.rawValue),
            missing.addresses.map(\.sha256))
    }

    static func judge(_ installations: [Installation]) -> PostgresStatement {
        PostgresStatement(
            judgeSQL, installations.map(\.key.app.rawValue), installations.map(\.key.installID.rawValue),
            installations.map(\.state.rawValue), installations.map(\.generation),
            installations.map(\.stateChangedAt.postgres))
    }

    /// R5: gives up the token of an installation that was replaced.
    static func retire(_ installations: [Installation]) -> PostgresStatement {
        PostgresStatement(
            RegistrationStatements.release, installations.map(\.key.app.rawValue),
            installations.map(\.key.installID.rawValue), installations.map(\.generation),
            installations.map(\.stateChangedAt.postgres))
    }
}
