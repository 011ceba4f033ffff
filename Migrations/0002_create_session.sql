-- What is remembered of users and sessions (R7), so that a delayed registration cannot revive what was logged out.
--
-- The rows are also where a registration and a logout meet: who begins a binding holds its user's and its session's row in
-- share mode, who ends one has it alone, and both take these locks before those of installations.

ALTER TABLE installation ADD COLUMN credential_issued_at timestamptz;
CREATE INDEX installation_session ON installation (app_id, session_id) WHERE session_id IS NOT NULL;

-- A user who was seen. By digest: the row outlives an erasure, since it refuses credentials from before it.
CREATE TABLE user_guard (
    app_id integer NOT NULL,
    user_sha256 bytea NOT NULL,
    -- When all sessions were ended: credentials issued in an earlier second are refused.
    refused_before timestamptz,
    PRIMARY KEY (app_id, user_sha256)
);

-- A session that was seen, or that was ended without having been seen.
CREATE TABLE session (
    app_id integer NOT NULL,
    session_id text COLLATE "C" NOT NULL,
    -- Whose it was when it was first seen; NULL if it never was.
    user_sha256 bytea,
    seen_at timestamptz NOT NULL DEFAULT now(),
    ended_at timestamptz,
    -- When the user's other sessions were ended and this one was excepted.
    kept_at timestamptz,
    PRIMARY KEY (app_id, session_id)
);
CREATE INDEX session_of_user ON session (app_id, user_sha256) WHERE ended_at IS NULL;

-- A user's logout of one installation. Without a session (an empty one) it concerns credentials by their age. It is
-- protected by the lock of the installation itself.
CREATE TABLE installation_logout (
    app_id integer NOT NULL,
    install_id text COLLATE "C" NOT NULL,
    user_sha256 bytea NOT NULL,
    session_id text COLLATE "C" NOT NULL,
    logged_out_at timestamptz NOT NULL,
    PRIMARY KEY (app_id, install_id, user_sha256, session_id)
);

-- For erasure, which takes the user out of history.
CREATE INDEX token_event_user ON token_event (app_id, user_id) WHERE user_id IS NOT NULL;
CREATE INDEX token_event_previous_user ON token_event (app_id, previous_user_id)
    WHERE previous_user_id IS NOT NULL AND previous_user_id IS DISTINCT FROM user_id;

CREATE FUNCTION user_digest(user_id text) RETURNS bytea LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN sha256(convert_to(user_id, 'UTF8'));
