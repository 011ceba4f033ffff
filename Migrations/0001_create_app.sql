-- Apps, their keys and their saved filters: small tables that every service caches.

CREATE TYPE provider AS ENUM ('apns', 'apnsSandbox', 'fcm', 'huawei', 'webPush');
CREATE TYPE installation_state AS ENUM ('active', 'loggedOut', 'superseded', 'unregistered', 'suspect', 'stale');
CREATE TYPE authorization_status AS ENUM
    ('notDetermined', 'denied', 'authorized', 'provisional', 'ephemeral', 'unknown');
CREATE TYPE role AS ENUM ('client', 'service', 'sender', 'marketing', 'admin', 'support');
CREATE TYPE event_kind AS ENUM (
    'registered', 'rotated', 'takenOver', 'superseded', 'loggedOut', 'sessionEnded', 'suspect', 'unregistered',
    'stale', 'reactivated', 'deleted', 'erased', 'imported', 'logoutIgnored', 'topicsChanged', 'tokenMoved');

CREATE TABLE app (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    identifier text COLLATE "C" NOT NULL UNIQUE,
    -- The members that the administrator has set, as in the API; durations in ISO 8601. It contains symmetric keys, so
    -- no statement for a reader selects it whole.
    policy jsonb NOT NULL,
    -- The key of the opaque ids that marketing sees, and of the names of epochs. It never changes, so they are stable.
    -- It never leaves the service.
    identity_key bytea NOT NULL
        DEFAULT sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())),
    created_at timestamptz NOT NULL DEFAULT now(), updated_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE api_key (
    id text COLLATE "C" PRIMARY KEY,
    app_id integer NOT NULL REFERENCES app,
    name text NOT NULL, roles role[] NOT NULL, secret_sha256 bytea NOT NULL,
    -- From expires_at on, the key is refused like a revoked one.
    created_at timestamptz NOT NULL DEFAULT now(), expires_at timestamptz, revoked_at timestamptz
);
CREATE INDEX api_key_app ON api_key (app_id);

-- The keys by which the service signs values that it returns and later verifies, such as receipts. A separate key is
-- derived for each purpose. The newest key signs; the older ones verify until the last value that they signed has
-- expired. They never leave the service.
CREATE TABLE app_signing_key (
    app_id integer NOT NULL REFERENCES app,
    number smallint NOT NULL CHECK (number > 0),
    key bytea NOT NULL
        DEFAULT sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())),
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (app_id, number)
);

-- The version of apps and keys. A cache with another version is out of date. It is one row, so changes are serialised,
-- and a reader that sees a version sees every change up to it. A sequence would not guarantee that.
CREATE TABLE directory_version (
    singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton), version bigint NOT NULL
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
CREATE TRIGGER app_signing_key_changed AFTER INSERT OR UPDATE OR DELETE ON app_signing_key
    FOR EACH STATEMENT EXECUTE FUNCTION bump_directory_version();

-- Every app has a signing key from its creation on, by the API or by a command.
CREATE FUNCTION create_first_signing_key() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO app_signing_key (app_id, number) VALUES (NEW.id, 1);
    RETURN NULL;
END
$$;
CREATE TRIGGER app_created AFTER INSERT ON app FOR EACH ROW EXECUTE FUNCTION create_first_signing_key();

-- A saved filter.
CREATE TABLE segment (
    app_id integer NOT NULL REFERENCES app,
    name text COLLATE "C" NOT NULL,
    -- The filter as the client sent it.
    filter json NOT NULL,
    description text, updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (app_id, name)
);

-- The segments that a segment names. A writer locks the app's row first, so two writers cannot create a cycle together.
CREATE TABLE segment_use (
    app_id integer NOT NULL, name text COLLATE "C" NOT NULL, used text COLLATE "C" NOT NULL,
    PRIMARY KEY (app_id, name, used),
    FOREIGN KEY (app_id, name) REFERENCES segment ON DELETE CASCADE,
    FOREIGN KEY (app_id, used) REFERENCES segment
);
CREATE INDEX segment_use_used ON segment_use (app_id, used);

-- Orders what a clock cannot order, because it may be set: the lives of an installation, and the beginnings and ends of
-- bindings. Every transaction that changes a binding draws one number. The first one follows from the time, so that
-- generations of another registry that is imported are below this one's; `Installation.firstGeneration` has the factor.
CREATE SEQUENCE change_number;
SELECT setval('change_number', (extract(epoch FROM now()) * 1000000 / 16)::bigint);
