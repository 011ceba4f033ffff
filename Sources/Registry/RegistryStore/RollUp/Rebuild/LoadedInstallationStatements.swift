import PostgresClient

/// The SQL of the rows beside installations that were loaded by COPY: those `$2` of the app `$1`.
enum LoadedInstallationStatements {
    /// Benchmark, generated fleet (R1): adds tokens.
    static let holders = PreparedSQL(
        """
        INSERT INTO token_holder (app_id, provider, token_sha256, install_id)
        SELECT app_id, provider, token_sha256, install_id FROM installation
        WHERE app_id = $1 AND install_id = ANY ($2)
        """)

    /// Benchmark, generated fleet (R4): adds owners.
    static let owners = PreparedSQL(
        """
        INSERT INTO installation_owner (app_id, user_id, install_id, session_id, number)
        SELECT app_id, user_id, install_id, session_id, 0 FROM installation
        WHERE app_id = $1 AND install_id = ANY ($2) AND user_id IS NOT NULL
        """)

    /// Benchmark, generated fleet (R13): adds deltas.
    static let deltas = PreparedSQL(
        """
        \(sql: RollUpDeltaStatements.insert(from: """
            SELECT topics, cell, session_expires_at AS expires_at, 1 AS active, 1 AS installations FROM installation
            WHERE app_id = $1 AND install_id = ANY ($2)
            """))
        """)

    /// Benchmark, generated fleet (R12): adds events.
    static let events = PreparedSQL(
        """
        INSERT INTO token_event (position, at, app_id, install_id, event, reason, actor, provider, token_sha256,
            user_id, previous_user_id, state, generation_before, generation_after)
        SELECT \(sql: RollUpDeltaStatements.transactionID), created_at, app_id, install_id, 'registered',
            'firstRegistration', $3, provider, token_sha256, user_id, NULL, state, 0, generation
        FROM installation WHERE app_id = $1 AND install_id = ANY ($2)
        """)
}
