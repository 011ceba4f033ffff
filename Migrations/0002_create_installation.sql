-- Installations, and the narrow tables beside them.
--
-- Every row of a registration is found by app_id and one other key. Tokens, users and sessions move between
-- installations, so they have tables of their own. The wide row has no index on them, so every update of the wide row
-- is heap-only.

-- One row per installation: its binding (token, owner, session, state), its times, and the last snapshot. There is no
-- foreign key to app: the check would lock the app's one row at every first registration.
CREATE TABLE installation (
    app_id integer NOT NULL, install_id text COLLATE "C" NOT NULL,

    provider provider NOT NULL, token text COLLATE "C", token_sha256 bytea, p256dh text COLLATE "C",
    auth text COLLATE "C", user_id text COLLATE "C", session_id text COLLATE "C", session_expires_at timestamptz,
    credential_issued_at timestamptz,
    -- The user who registered last, kept after a logout: the first 64 bits of the user id's SHA-256. NULL: without a
    -- user.
    registrant bigint,
    -- The user who sent the present snapshot first, in the same form.
    snapshot_sender bigint,
    state installation_state NOT NULL, generation bigint NOT NULL,
    -- The generation after the last registration. A provider's verdict counts if it is about this generation or a later
    -- one.
    registration_generation bigint NOT NULL,
    -- The generation at which the present epoch of notifications began. It changes with the owner.
    epoch bigint NOT NULL,
    -- Grows by one with each update of the row. A writer that has read the row without a lock compares it.
    revision bigint NOT NULL,
    probably_replaced_by text COLLATE "C",

    created_at timestamptz NOT NULL, registered_at timestamptz NOT NULL, last_seen_at timestamptz NOT NULL,
    state_changed_at timestamptz NOT NULL,
    -- When the present snapshot arrived.
    snapshot_at timestamptz NOT NULL,

    -- The row of rollup_cell that counts this installation.
    cell bigint NOT NULL,
    -- The digest of the bytes of the last registration, and of the user and session that it was for. It describes the
    -- row while generation = registration_generation.
    registration_digest bytea NOT NULL,
    -- The digest of the snapshot alone.
    snapshot_digest bytea NOT NULL,

    -- The twelve settings, and whether an import assumed that the user allows notifications, one hexadecimal digit
    -- each: see the view installation_settings.
    settings bigint NOT NULL,
    keychain_id text COLLATE "C", vendor_id text COLLATE "C", advertising_id text COLLATE "C",
    app_version text COLLATE "C", device_model text COLLATE "C" NOT NULL, system_name text COLLATE "C" NOT NULL,
    system_version text COLLATE "C" NOT NULL, locale text COLLATE "C" NOT NULL, language text COLLATE "C",
    languages text[] COLLATE "C" NOT NULL, region text COLLATE "C", time_zone_id text COLLATE "C" NOT NULL,
    time_zone_offset integer NOT NULL, carrier text COLLATE "C", app_store text COLLATE "C",
    latitude double precision, longitude double precision,

    PRIMARY KEY (app_id, install_id),
    CONSTRAINT token_has_digest CHECK ((token IS NULL) = (token_sha256 IS NULL)),
    CONSTRAINT active_has_token CHECK (state <> 'active' OR token IS NOT NULL),
    CONSTRAINT superseded_has_no_token CHECK (state <> 'superseded' OR token IS NULL),
    CONSTRAINT session_has_owner CHECK (session_id IS NULL OR user_id IS NOT NULL),
    CONSTRAINT location_is_whole CHECK ((latitude IS NULL) = (longitude IS NULL))
) WITH (fillfactor = 80);

-- R5: the other installations with this keychain.
CREATE INDEX installation_keychain ON installation (app_id, keychain_id) WHERE keychain_id IS NOT NULL;

-- The settings of an installation by name. Digit 0 (the lowest) is the authorization status, digits 1 to 8 are the
-- eight notification settings, 9 is the alert style, 10 the previews, 11 whether the app has a settings screen, 12
-- whether an import assumed that the user allows notifications (until the first registration).
CREATE FUNCTION setting_name(settings bigint, digit integer, names text[]) RETURNS text LANGUAGE sql IMMUTABLE
PARALLEL SAFE AS 'SELECT names[(settings >> (4 * digit) & 15)::integer + 1]';

CREATE VIEW installation_settings AS
SELECT i.app_id, i.install_id,
    setting_name(settings, 0, '{notDetermined,denied,authorized,provisional,ephemeral,unknown}')
        AS authorization_status,
    setting_name(settings, 1, n.names) AS sound_setting, setting_name(settings, 2, n.names) AS badge_setting,
    setting_name(settings, 3, n.names) AS alert_setting,
    setting_name(settings, 4, n.names) AS notification_center_setting,
    setting_name(settings, 5, n.names) AS lock_screen_setting, setting_name(settings, 6, n.names) AS car_play_setting,
    setting_name(settings, 7, n.names) AS critical_alert_setting,
    setting_name(settings, 8, n.names) AS announcement_setting,
    setting_name(settings, 9, '{none,banner,alert,unknown}') AS alert_style,
    setting_name(settings, 10, '{always,whenAuthenticated,never,unknown}') AS show_previews_setting,
    setting_name(settings, 11, '{NULL,false,true}')::boolean AS provides_app_notification_settings,
    (settings >> 48 & 15) = 1 AS authorization_assumed
FROM installation i
    CROSS JOIN (VALUES ('{notSupported,disabled,enabled,unknown}'::text[])) AS n (names);

-- R1: the holder of each token. The key has the token's SHA-256, because a token of 4,096 characters does not fit into
-- an index entry. The row outlives its holder, so all calls that race for a token lock the same row.
CREATE TABLE token_holder (
    app_id integer NOT NULL, provider provider NOT NULL, token_sha256 bytea NOT NULL,
    -- NULL: no installation holds the token. The night job deletes such rows.
    install_id text COLLATE "C",
    PRIMARY KEY (app_id, provider, token_sha256)
) WITH (fillfactor = 80);

-- The users that an installation is or was bound to. A row outlives the installation for as long as history is kept: an
-- erasure finds a user's installations here.
CREATE TABLE installation_owner (
    app_id integer NOT NULL, user_id text COLLATE "C" NOT NULL, install_id text COLLATE "C" NOT NULL,
    -- The session of the binding, or of the last binding.
    session_id text COLLATE "C",
    -- The number of the transaction that began the binding, or changed its session.
    number bigint NOT NULL,
    -- When the binding ended. NULL: the installation is bound to this user.
    left_at timestamptz,
    PRIMARY KEY (app_id, user_id, install_id)
) WITH (fillfactor = 80);
CREATE INDEX installation_owner_session ON installation_owner (app_id, session_id) WHERE session_id IS NOT NULL;

-- R7: ended users and sessions are remembered, so that a delayed registration cannot bring back a session that was
-- logged out. Registrations and logouts meet at advisory locks of the users and sessions, which come before the locks
-- of tokens and installations.

-- A user who was logged out everywhere, or has choices about topics. The key is a digest, because the row outlives an
-- erasure: it refuses older credentials.
CREATE TABLE user_guard (
    app_id integer NOT NULL, user_sha256 bytea NOT NULL,
    -- When all sessions of the user were ended. Credentials issued in an earlier second are refused.
    refused_before timestamptz,
    -- The number of that logout. The user's sessions that left their installations before it are refused.
    refused_number bigint,
    PRIMARY KEY (app_id, user_sha256)
);

-- A session that has left an installation, was ended, or was kept by its user's logout. One that is merely bound has no
-- row.
CREATE TABLE session (
    app_id integer NOT NULL, session_id text COLLATE "C" NOT NULL,
    -- The user with whom it was bound. NULL: it was ended first.
    user_sha256 bytea,
    -- When the row was added, or the session was kept.
    recorded_at timestamptz NOT NULL,
    -- The number of the transaction in which it first left an installation. NULL: it was ended first.
    left_number bigint,
    ended_at timestamptz,
    -- The number of the user's logout that kept this session.
    kept_number bigint,
    PRIMARY KEY (app_id, session_id)
);

-- A user's logout of one installation. A row with an empty session refuses credentials by their age. The lock of the
-- installation protects the row.
CREATE TABLE installation_logout (
    app_id integer NOT NULL,
    install_id text COLLATE "C" NOT NULL, user_sha256 bytea NOT NULL, session_id text COLLATE "C" NOT NULL,
    logged_out_at timestamptz NOT NULL,
    PRIMARY KEY (app_id, install_id, user_sha256, session_id)
);

-- The planner must not believe that an app has few rows. It does if most apps are small, and then reads all rows of a
-- large app where it could find each by its key. With this setting, ANALYZE counts one app: plans are those of a
-- registry with a single app, at its size.
ALTER TABLE installation ALTER COLUMN app_id SET (n_distinct = 1);
ALTER TABLE token_holder ALTER COLUMN app_id SET (n_distinct = 1);
ALTER TABLE installation_owner ALTER COLUMN app_id SET (n_distinct = 1);
ALTER TABLE user_guard ALTER COLUMN app_id SET (n_distinct = 1);
ALTER TABLE session ALTER COLUMN app_id SET (n_distinct = 1);
ALTER TABLE installation_logout ALTER COLUMN app_id SET (n_distinct = 1);
