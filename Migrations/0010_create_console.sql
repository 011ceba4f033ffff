-- Sessions of the console: who is signed in, in a browser.

CREATE TABLE console_session (
    -- Of the cookie's value.
    sha256 bytea PRIMARY KEY,
    -- The key that signed in; the session ends with it. NULL: the admin key.
    key_id text COLLATE "C" REFERENCES api_key,
    -- Of a session of the admin key: an HMAC of the cookie's value by the digest of the admin key. So the session ends
    -- when the service gets another admin key, and the row reveals nothing of the key.
    admin_proof bytea,
    created_at timestamptz NOT NULL,
    -- To the minute.
    last_used_at timestamptz NOT NULL,
    CONSTRAINT one_credential CHECK ((key_id IS NULL) <> (admin_proof IS NULL))
);
