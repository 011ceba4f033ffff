-- The registry: apps with their keys, installations, and the history of both bindings and settings.

CREATE TYPE provider AS ENUM ('apns', 'apnsSandbox', 'fcm', 'huawei', 'webPush');
CREATE TYPE installation_state AS ENUM ('active', 'loggedOut', 'superseded', 'unregistered', 'suspect', 'stale');
CREATE TYPE authorization_status AS ENUM
    ('notDetermined', 'denied', 'authorized', 'provisional', 'ephemeral', 'unknown');
CREATE TYPE notification_setting AS ENUM ('notSupported', 'disabled', 'enabled', 'unknown');
CREATE TYPE alert_style AS ENUM ('none', 'banner', 'alert', 'unknown');
CREATE TYPE show_previews_setting AS ENUM ('always', 'whenAuthenticated', 'never', 'unknown');
CREATE TYPE role AS ENUM ('client', 'service', 'sender', 'marketing', 'admin');
CREATE TYPE event_kind AS ENUM (
    'registered', 'rotated', 'takenOver', 'superseded', 'loggedOut', 'sessionEnded', 'suspect', 'unregistered',
    'stale', 'reactivated', 'deleted', 'erased', 'imported', 'logoutIgnored');

CREATE TABLE app (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    identifier text COLLATE "C" NOT NULL UNIQUE,
    -- The members of the API's app object, durations in ISO 8601; symmetric keys included, hence never selected whole
    -- for a reader.
    policy jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE api_key (
    id text COLLATE "C" PRIMARY KEY,
    app_id integer NOT NULL REFERENCES app,
    name text NOT NULL,
    roles role[] NOT NULL,
    secret_sha256 bytea NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    revoked_at timestamptz
);
CREATE INDEX api_key_app ON api_key (app_id);

-- Apps and keys are cached by every service; this number tells a cache that it is out of date. One row, so that
-- changes are serialised: a reader that sees a version sees all that led to it, which a sequence would not promise.
CREATE TABLE directory_version (
    singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
    version bigint NOT NULL
);
INSERT INTO directory_version (version) VALUES (1);

CREATE FUNCTION bump_directory_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE directory_version SET version = version + 1;
    RETURN NULL;
END
$$;
CREATE TRIGGER app_changed AFTER INSERT OR UPDATE OR DELETE ON app
    FOR EACH STATEMENT EXECUTE FUNCTION bump_directory_version();
CREATE TRIGGER api_key_changed AFTER INSERT OR UPDATE OR DELETE ON api_key
    FOR EACH STATEMENT EXECUTE FUNCTION bump_directory_version();

-- One row per installation: its binding (token, owner, session, state), its times, and the snapshot as last sent.
-- No foreign key to app: its check would lock the app's one row for every first registration. No index on what changes at
-- every visit, and room on the pages, so that updates stay heap-only.
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
    state installation_state NOT NULL,
    generation bigint NOT NULL,
    -- The generation after the last registration: what a provider's verdict may be about.
    registration_generation bigint NOT NULL,
    probably_replaced_by text COLLATE "C",

    created_at timestamptz NOT NULL,
    registered_at timestamptz NOT NULL,
    last_seen_at timestamptz NOT NULL,
    state_changed_at timestamptz NOT NULL,

    -- Of all that the last registration said. It speaks for the row while generation = registration_generation.
    registration_digest bytea NOT NULL,
    -- Of the snapshot alone: whether the history of settings gains a row.
    snapshot_digest bytea NOT NULL,
    authorization_status authorization_status NOT NULL,
    sound_setting notification_setting NOT NULL,
    badge_setting notification_setting NOT NULL,
    alert_setting notification_setting NOT NULL,
    notification_center_setting notification_setting NOT NULL,
    lock_screen_setting notification_setting NOT NULL,
    car_play_setting notification_setting NOT NULL,
    critical_alert_setting notification_setting NOT NULL,
    announcement_setting notification_setting NOT NULL,
    alert_style alert_style NOT NULL,
    show_previews_setting show_previews_setting NOT NULL,
    provides_app_notification_settings boolean,
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

-- R1: a token is held once. Over its SHA-256, since a token of 4,096 characters does not fit an index entry.
CREATE UNIQUE INDEX installation_token ON installation (app_id, provider, token_sha256) WHERE token_sha256 IS NOT NULL;
CREATE INDEX installation_user ON installation (app_id, user_id) WHERE user_id IS NOT NULL;
-- R5: who else has this keychain.
CREATE INDEX installation_keychain ON installation (app_id, keychain_id) WHERE keychain_id IS NOT NULL;

-- R12. Append-only, by month. It names a token by its SHA-256 only.
CREATE TABLE token_event (
    id bigint GENERATED ALWAYS AS IDENTITY,
    -- The writing transaction: what lets a reader tell which events were committed before it looked.
    transaction_id xid8 NOT NULL DEFAULT pg_current_xact_id(),
    at timestamptz NOT NULL,
    app_id integer NOT NULL,
    install_id text COLLATE "C" NOT NULL,
    event event_kind NOT NULL,
    reason text NOT NULL,
    actor text NOT NULL,
    provider provider NOT NULL,
    token_sha256 bytea,
    user_id text COLLATE "C",
    previous_user_id text COLLATE "C",
    state installation_state NOT NULL,
    generation_before bigint NOT NULL,
    generation_after bigint NOT NULL
) PARTITION BY RANGE (at);
CREATE INDEX token_event_installation ON token_event (app_id, install_id, id);
CREATE INDEX token_event_token ON token_event (app_id, token_sha256, id);
CREATE TABLE token_event_default PARTITION OF token_event DEFAULT;

-- What an installation sent, each time that it differed from the last. Append-only, by month.
CREATE TABLE settings_snapshot (
    id bigint GENERATED ALWAYS AS IDENTITY,
    at timestamptz NOT NULL,
    app_id integer NOT NULL,
    install_id text COLLATE "C" NOT NULL,
    authorization_status authorization_status NOT NULL,
    sound_setting notification_setting NOT NULL,
    badge_setting notification_setting NOT NULL,
    alert_setting notification_setting NOT NULL,
    notification_center_setting notification_setting NOT NULL,
    lock_screen_setting notification_setting NOT NULL,
    car_play_setting notification_setting NOT NULL,
    critical_alert_setting notification_setting NOT NULL,
    announcement_setting notification_setting NOT NULL,
    alert_style alert_style NOT NULL,
    show_previews_setting show_previews_setting NOT NULL,
    provides_app_notification_settings boolean,
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
    longitude double precision
) PARTITION BY RANGE (at);
CREATE INDEX settings_snapshot_installation ON settings_snapshot (app_id, install_id, id);
CREATE TABLE settings_snapshot_default PARTITION OF settings_snapshot DEFAULT;

-- Makes the partitions of this month and of the `months` after it, where they are missing. A month that rows reached before
-- its partition did stays in the default one.
CREATE FUNCTION make_history_partitions(months integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    parent text;
    first_day date;
    partition text;
    made integer := 0;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('push-registry: history partitions'));
    FOR first_day IN
        SELECT generate_series(date_trunc('month', now() AT TIME ZONE 'UTC'),
            date_trunc('month', now() AT TIME ZONE 'UTC') + months * interval '1 month', interval '1 month')::date
    LOOP
        FOREACH parent IN ARRAY ARRAY['token_event', 'settings_snapshot'] LOOP
            partition := parent || to_char(first_day, '_YYYY_MM');
            CONTINUE WHEN to_regclass(partition) IS NOT NULL;
            BEGIN
                EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES FROM (%L) TO (%L)', partition, parent,
                    first_day::text || ' 00:00:00+00', (first_day + interval '1 month')::date::text || ' 00:00:00+00');
                made := made + 1;
            EXCEPTION WHEN check_violation THEN
                RAISE WARNING 'rows of % are in the default partition of %', partition, parent;
            END;
        END LOOP;
    END LOOP;
    RETURN made;
END
$$;
SELECT make_history_partitions(3);
