import Dispatch
import PostgresClient
import Testing

@testable import RegistryStore

@Suite("What requests look up is read row by row, also by a session that planned it while there was nothing")
struct EmptyTablePlanTests {
    @Test(arguments: [
        (
            RegistrationStatements.lookUp,
            "1, '{7,new}', '{apns,apns}', ARRAY[sha256('7'), sha256('8')]"
        ),
        (HolderStatements.lockSQL, "1, '{apns}', ARRAY[sha256('7')], '{7}'"),
        (RegistrationStatements.lock, "1, '{7}', '{apns}', ARRAY[sha256('7')], '{7}'"),
        (RegistrationStatements.touch, "1, '2026-01-01', '{7}', '{1}'"),
        (ChangeStatements.keepSnapshots, "1, '2026-01-01', '{7}'"),
        (
            ChangeStatements.step,
            "1, '{7}', '{1}', '{f}', '{f}', '{stale}', '{2}', '{1}', '{NULL}', '{now}', '{now}', '{NULL}', '{NULL}'"
        ),
        (RegistrationStatements.checkOrder, "1, '{7}', now()"),
        (InstallationStatements.lock, "1, '{7}'"),
        (UserStatements.lockOfSession, "1, '7', '', 10"),
        (UserStatements.lockOfUser, "1, '7', '', 10, 7"),
        (GuardStatements.users, "1, ARRAY[sha256('7')]"),
        (GuardStatements.sessions, "1, '{7}'"),
        (UserStatements.seenWithUser, "1, '7', '', 10"),
        (UserStatements.leftByUser, "1, '7', 7, '{7}'"),
        (UserStatements.anonymizeEvents, "1, '7', '{7}'"),
        (UserStatements.forgetRegistrant, "1, 7, '{7}'"),
        (UserStatements.forgetFormerOwners, "1, '{7}', '{7}', '{7}'"),
        (UserStatements.deleteOwners, "1, '7', '{7}'"),
        (UserStatements.list, "1, '7', '', 10"),
        (TopicChoiceStatements.lockInstallations, "1, '{7}', '', 10"),
        (GuardStatements.endSessionsOfBindings, "1, '7', NULL"),
        (GuardStatements.installationLogouts, "1, '{7}', ARRAY[sha256('7')], '{7}'"),
    ])
    func row_isReadAlone_byAPlanOfEmptyTables(lookUp: PreparedSQL, values: String) async throws {
        let read = try await rowsRead(lookUp, values)
        #expect((1...6).contains(read), "\(read) rows")
    }

    /// By a session of the service that has executed the statement before.
    private func rowsRead(_ lookUp: PreparedSQL, _ values: String) async throws -> Int {
        try await TestStores.with { stores in
            // The session blocks its thread while another one analyzes.
            let analyzed: @Sendable () throws -> Void = {
                let done = DispatchSemaphore(value: 0)
                Task {
                    try? await TableAnalyzer(postgres: stores.postgres).analyze()
                    done.signal()
                }
                done.wait()
            }
            return try await PostgresSession.withSession(stores.configuration) { session in
                try session.run(script: Self.rows)
                // As autovacuum does within a minute.
                try session.run(script: "ANALYZE")
                try session.run(
                    script: """
                        SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off;
                        SET plan_cache_mode = force_generic_plan;
                        PREPARE look_up AS \(lookUp.text);
                        EXECUTE look_up (\(values))
                        """)
                try session.run(script: Self.fill)
                try analyzed()
                try session.run(script: "BEGIN")
                let before = try session.execute(Self.rowsOfSession)[0].decode(0, as: Int.self)
                try session.run(script: "EXECUTE look_up (\(values))")
                return try session.execute(Self.rowsOfSession)[0].decode(0, as: Int.self) - before
            }
        }
    }

    private static let rowsOfSession: PostgresStatement = """
        SELECT sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::bigint FROM pg_stat_xact_user_tables
        WHERE relname IN ('installation', 'token_holder', 'installation_owner', 'user_guard', 'session',
            'installation_logout') OR relname LIKE 'token_event_%'
        """

    /// One app has 5,000 of everything, and 5,000 apps have one: to the planner, an app has two rows.
    ///
    /// A session's first temporary table lets it plan all statements again, so this one is created before.
    private static let rows = """
        CREATE TEMPORARY TABLE row AS
        SELECT 1 AS app, number::text AS n, sha256(number::text::bytea) AS sha256
        FROM generate_series(1, 5000) AS number
        UNION ALL
        SELECT number, '7', sha256('7') FROM generate_series(2, 5001) AS number
        """

    private static let fill = """
        INSERT INTO installation (app_id, install_id, provider, token, token_sha256, user_id, session_id, state,
            generation, registration_generation, epoch, revision, created_at, registered_at, last_seen_at,
            state_changed_at, snapshot_at, cell, registration_digest, snapshot_digest, settings, keychain_id,
            device_model, system_name, system_version, locale, languages, time_zone_id, time_zone_offset)
        SELECT app, n, 'apns', n, sha256, n, n, 'active', 1, 1, 1, 1, now(), now(), now(), now(), now(), 1, '',
            '', 0, n, '', '', '', '', '{}', '', 0
        FROM row;
        INSERT INTO token_holder SELECT app, 'apns', sha256, n FROM row;
        INSERT INTO installation_owner SELECT app, n, n, n, 1 FROM row;
        INSERT INTO user_guard (app_id, user_sha256, refused_before, refused_number)
        SELECT app, sha256, now(), 1 FROM row;
        INSERT INTO session (app_id, session_id, user_sha256, recorded_at, ended_at)
        SELECT app, n, sha256, now(), now() FROM row;
        INSERT INTO installation_logout (app_id, install_id, user_sha256, session_id, logged_out_at)
        SELECT app, n, sha256, n, now() FROM row;
        INSERT INTO token_event (position, at, app_id, install_id, event, reason, actor, generation_after)
        SELECT n::integer, now(), app, n, 'registered', 'firstRegistration', 'service', n::integer FROM row
        """
}
