-- Installations, and the narrow tables beside them.
--
-- All of a registration's rows are found by app_id and one more key. What moves between installations (a token, a user,
-- a session) has a table of its own: the wide row has no index on it, so that every update of the wide row is
-- heap-only.

-- One row per installation: its binding (token, owner, session, state), its times, and the snapshot as last sent.
-- There is no foreign key to app: its check would lock the app's one row for every first registration.
CREATE TABLE installation (
    app_id integer NOT NULL,
    install_id text COLLATE "C" NOT NULL,

    provider provider NOT NULL,
    token text COLLATE "C",
    token_sha256 bytea,
    p256dh text COLLATE "C",
    auth text COLLATE "C",
    user_id text COLLATE "C",
    session_id text COLLATE "C",
    session_expires_at timestamptz,
    credential_issued_at timestamptz,
    -- Who registered last, also after a logout: the first 64 bits of the user id's SHA-256. NULL: nobody was named.
    registrant bigint,
    -- Who sent the present snapshot first, likewise.
    snapshot_sender bigint,
    state installation_state NOT NULL,
    generation bigint NOT NULL,
    -- The generation after the last registration. A provider's verdict may be about any generation from here on.
    registration_generation bigint NOT NULL,
    -- Grows by one with each update of the row. A writer that read the row without a lock compares it.
    revision bigint NOT NULL,
    probably_replaced_by text COLLATE "C",

    created_at timestamptz NOT NULL,
    registered_at timestamptz NOT NULL,
    last_seen_at timestamptz NOT NULL,
    state_changed_at timestamptz NOT NULL,
    -- When the present snapshot arrived.
    snapshot_at timestamptz NOT NULL,

    -- The row of rollup_cell that counts this installation.
    cell bigint NOT NULL,
    -- Of everything that the last registration said. It describes the row while generation = registration_generation.
    registration_digest bytea NOT NULL,
    -- Of the snapshot alone.
    snapshot_digest bytea NOT NULL,

    -- The twelve settings, one hexadecimal digit each: see the view installation_settings.
    settings bigint NOT NULL,
    keychain_id text COLLATE "C",
    vendor_id text COLLATE "C",
    advertising_id text COLLATE "C",
    app_version text COLLATE "C",
    device_model text COLLATE "C" NOT NULL,
    system_name text COLLATE "C" NOT NULL,
    system_version text COLLATE "C" NOT NULL,
    locale text COLLATE "C" NOT NULL,
    language text COLLATE "C",
    languages text[] COLLATE "C" NOT NULL,
    region text COLLATE "C",
    time_zone_id text COLLATE "C" NOT NULL,
    time_zone_offset integer NOT NULL,
    carrier text COLLATE "C",
    app_store text COLLATE "C",
    latitude double precision,
    longitude double precision,

    PRIMARY KEY (app_id, install_id),
    CONSTRAINT token_has_digest CHECK ((token IS NULL) = (token_sha256 IS NULL)),
    CONSTRAINT active_has_token CHECK (state <> 'active' OR token IS NOT NULL),
    CONSTRAINT superseded_has_no_token CHECK (state <> 'superseded' OR token IS NULL),
    CONSTRAINT session_has_owner CHECK (session_id IS NULL OR user_id IS NOT NULL),
    CONSTRAINT location_is_whole CHECK ((latitude IS NULL) = (longitude IS NULL))
) WITH (fillfactor = 80);

-- R5: the other installations with this keychain.
CREATE INDEX installation_keychain ON installation (app_id, keychain_id) WHERE keychain_id IS NOT NULL;

-- The settings of an installation by name. Digit 0 (the lowest) is the authorization status, 1 to 8 are the eight
-- notification settings, 9 the alert style, 10 the previews, 11 whether the app shows settings of its own.
CREATE FUNCTION setting_name(settings bigint, digit integer, names text[]) RETURNS text LANGUAGE sql IMMUTABLE
PARALLEL SAFE AS 'SELECT names[(settings >> (4 * digit) & 15)::integer + 1]';

CREATE VIEW installation_settings AS
SELECT i.app_id, i.install_id,
    setting_name(settings, 0, '{notDetermined,denied,authorized,provisional,ephemeral,unknown}')
        AS authorization_status,
    setting_name(settings, 1, n.names) AS sound_setting,
    setting_name(settings, 2, n.names) AS badge_setting,
    setting_name(settings, 3, n.names) AS alert_setting,
    setting_name(settings, 4, n.names) AS notification_center_setting,
    setting_name(settings, 5, n.names) AS lock_screen_setting,
    setting_name(settings, 6, n.names) AS car_play_setting,
    setting_name(settings, 7, n.names) AS critical_alert_setting,
    setting_name(settings, 8, n.names) AS announcement_setting,
    setting_name(settings, 9, '{none,banner,alert,unknown}') AS alert_style,
    setting_name(settings, 10, '{always,whenAuthenticated,never,unknown}') AS show_previews_setting,
    setting_name(settings, 11, '{NULL,false,true}')::boolean AS provides_app_notification_settings
FROM installation i
    CROSS JOIN (VALUES ('{notSupported,disabled,enabled,unknown}'::text[])) AS n (names);

-- R1: who holds a token. Its key is the token's SHA-256, since a token of 4,096 characters does not fit an index entry.
-- The row outlives its holder, so that all who race for a token meet at one row and lock it.
CREATE TABLE token_holder (
    app_id integer NOT NULL,
    provider provider NOT NULL,
    token_sha256 bytea NOT NULL,
    -- NULL: nobody holds it. The night job removes such rows.
    install_id text COLLATE "C",
    PRIMARY KEY (app_id, provider, token_sha256)
) WITH (fillfactor = 80);

-- The users that an installation was bound to, the present one among them. It outlives the installation for as long as
-- history is kept: an erasure finds here what concerns a user.
CREATE TABLE installation_owner (
    app_id integer NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    install_id text COLLATE "C" NOT NULL,
    -- The session of the binding, or of the last one.
    session_id text COLLATE "C",
    -- When the binding ended. NULL: the installation is bound to this user.
    left_at timestamptz,
    PRIMARY KEY (app_id, user_id, install_id)
) WITH (fillfactor = 80);
CREATE INDEX installation_owner_session ON installation_owner (app_id, session_id) WHERE session_id IS NOT NULL;

-- R7: what is remembered of users and sessions, so that a delayed registration cannot revive what was logged out.
--
-- A registration and a logout meet at these rows. A registration that begins a binding holds the rows of its user and
-- session in share mode; a logout holds them alone. Both lock users first, then sessions, tokens and installations,
-- each in the order of their keys.

-- A user who was seen. The key is a digest: the row outlives an erasure, since it refuses credentials from before it.
CREATE TABLE user_guard (
    app_id integer NOT NULL,
    user_sha256 bytea NOT NULL,
    -- When all sessions of the user were ended. Credentials issued in an earlier second are refused, and so are
    -- sessions that were first seen with the user before.
    refused_before timestamptz,
    added_at timestamptz NOT NULL,
    PRIMARY KEY (app_id, user_sha256)
);

-- A session that was seen, or that was ended without having been seen.
CREATE TABLE session (
    app_id integer NOT NULL,
    session_id text COLLATE "C" NOT NULL,
    -- The user with whom it was first seen. NULL: it never was.
    user_sha256 bytea,
    seen_at timestamptz NOT NULL,
    ended_at timestamptz,
    -- When the user's other sessions were ended and this one was excepted.
    kept_at timestamptz,
    PRIMARY KEY (app_id, session_id)
);

-- A user's logout of one installation. With an empty session it concerns credentials by their age. The lock of the
-- installation protects it.
CREATE TABLE installation_logout (
    app_id integer NOT NULL,
    install_id text COLLATE "C" NOT NULL,
    user_sha256 bytea NOT NULL,
    session_id text COLLATE "C" NOT NULL,
    logged_out_at timestamptz NOT NULL,
    PRIMARY KEY (app_id, install_id, user_sha256, session_id)
);

CREATE FUNCTION user_digest(user_id text) RETURNS bytea LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS 'SELECT sha256(convert_to(user_id, ''UTF8''))';
