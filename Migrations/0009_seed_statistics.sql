-- What the planner believes of a table that it has never looked at sends look-ups of tokens through all installations of an app: the
-- app's number alone seems to tell as much as the token does. Sessions keep such plans until the table is analyzed, which may take
-- a minute, and a new app's first minute has many registrations. So a new table is analyzed with rows in it that go again; one that is
-- in use, with its own.

DO $$
BEGIN
    IF EXISTS (SELECT FROM installation) THEN
        ANALYZE installation;
        RETURN;
    END IF;
    -- Nobody is told of these rows.
    ALTER TABLE installation DISABLE TRIGGER USER;
    INSERT INTO installation (app_id, install_id, provider, token, token_sha256, user_id, session_id, state, generation,
        registration_generation, created_at, registered_at, last_seen_at, state_changed_at, registration_digest, snapshot_digest,
        authorization_status, sound_setting, badge_setting, alert_setting, notification_center_setting, lock_screen_setting,
        car_play_setting, critical_alert_setting, announcement_setting, alert_style, show_previews_setting, keychain_id,
        device_model, system_name, system_version, locale, languages, time_zone_id, time_zone_offset)
    SELECT 0, n, 'apns', n, sha256(n::bytea), n, n, 'active', 1, 1, now(), now(), now(), now(), '', '', 'unknown', 'unknown',
        'unknown', 'unknown', 'unknown', 'unknown', 'unknown', 'unknown', 'unknown', 'unknown', 'unknown', n, '', '', '', '', '{}',
        '', 0
    FROM (SELECT number::text FROM generate_series(1, 300) AS number) AS row (n);
    ANALYZE installation;
    DELETE FROM installation;
    ALTER TABLE installation ENABLE TRIGGER USER;
END
$$;
