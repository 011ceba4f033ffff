import PostgresClient

/// The SQL that binds installations to other users and sessions in one trip: under the locks of their users and
/// sessions, but without those of tokens.
enum OwnerChangeStatements {
    static let named = [NamedStatement("changeOwner", changeOwner)]

    /// Writes only rows that still have the revision that the look-up read, as `RegistrationStatements.change` does.
    /// `s` is the row before. The look-up has found the token and the snapshot of the registration, and no choices
    /// about topics on the installation. A row stays as it is if its new user was logged out or has such choices,
    /// if its new session has ended, or if notifications wait for it. Then it is written under locks.
    ///
    /// `$1` is the app, `$2` the time of the look-up; the rest are arrays. Rows are looked up by subqueries with
    /// `OFFSET 0` and written at their places, for the reason that `CreationStatements.takeOver` tells. A binding
    /// changes only together with its installation's revision, so its place is still right.
    static let changeOwner = PreparedSQL(
        serving: "PUT …/installations/{installId} (R4, R7, R12): changes owners and sessions in one trip.",
        """
        WITH moment AS MATERIALIZED (
            SELECT greatest($2, clock_timestamp()) AS now
        ), changed AS (
            UPDATE installation i
            SET \(sql: OwnerChangeRow.written.assignments), topics = NULL, revision = i.revision + 1,
                generation = i.generation + 1, registration_generation = i.generation + 1,
                epoch = CASE WHEN k.user_id IS DISTINCT FROM i.user_id THEN i.generation + 1 ELSE i.epoch END,
                registered_at = greatest(m.now, i.registered_at, i.last_seen_at, i.state_changed_at),
                last_seen_at = greatest(m.now, i.registered_at, i.last_seen_at, i.state_changed_at)
            FROM \(sql: OwnerChangeRow.columns.unnest(from: 3))
                CROSS JOIN LATERAL (
                    SELECT ctid AS place, user_id, session_expires_at, cell, topics FROM installation
                    WHERE app_id = $1 AND install_id = k.install_id OFFSET 0) AS s
                CROSS JOIN moment m
            WHERE i.ctid = s.place AND i.revision = k.old_revision AND \(sql: CreationStatements.mayBind)
                AND NOT EXISTS (
                    SELECT FROM notification_counter c WHERE c.app_id = $1 AND c.install_id = k.install_id OFFSET 0)
            RETURNING i.install_id, i.provider, i.token_sha256, i.user_id, i.session_id, i.session_expires_at, i.cell,
                i.generation, i.epoch, i.registered_at, k.actor, s.user_id AS old_user_id,
                s.session_expires_at AS old_expires_at, s.cell AS old_cell, s.topics AS old_topics,
                CASE WHEN s.user_id <> coalesce(i.user_id, '') THEN 'takenOver' ELSE 'registered' END AS event,
                CASE WHEN s.user_id IS DISTINCT FROM i.user_id THEN 'ownerChanged' ELSE 'sessionChanged' END AS reason
        ), "left" AS (
            UPDATE installation_owner o SET left_at = k.registered_at
            FROM changed k CROSS JOIN LATERAL (
                SELECT ctid AS place FROM installation_owner
                WHERE app_id = $1 AND user_id = k.old_user_id AND install_id = k.install_id OFFSET 0) AS l
            WHERE o.ctid = l.place AND k.reason = 'ownerChanged'
        ), owned AS (
            \(sql: CreationStatements.beginBinding(of: "changed"))
        ), recorded AS (
            INSERT INTO token_event (position, at, app_id, install_id, event, reason, actor, provider, token_sha256,
                user_id, previous_user_id, state, generation_before, generation_after)
            SELECT (SELECT \(sql: EventStatements.position)), registered_at, $1, install_id, event::event_kind, reason,
                actor, provider, token_sha256, user_id, old_user_id, 'active', generation - 1, generation
            FROM changed
        ), moved AS (
            \(sql: RollUpDeltaStatements.insert(from: """
                SELECT old_topics AS topics, old_cell AS cell, old_expires_at AS expires_at, -1 AS active,
                    -1 AS installations
                FROM changed
                UNION ALL
                SELECT NULL, cell, session_expires_at, 1, 1 FROM changed
                """))
        )
        SELECT install_id, generation, epoch, registered_at, event, reason FROM changed
        """)
}
