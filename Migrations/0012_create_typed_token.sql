-- Tokens of an installation beside its main one. The lock of the installation protects its rows; a transaction that
-- adds a token holds the advisory lock of the token's bucket.
CREATE TYPE token_kind AS ENUM
    ('liveActivityStart', 'liveActivity', 'widget', 'voip', 'location', 'complication', 'fileProvider', 'pushToTalk');

CREATE TABLE typed_token (
    app_id integer NOT NULL, install_id text COLLATE "C" NOT NULL, kind token_kind NOT NULL,
    -- An empty name: the token has none. The provider is that of the token's environment.
    name text COLLATE "C" NOT NULL, provider provider NOT NULL CHECK (provider IN ('apns', 'apnsSandbox')),
    token text COLLATE "C" NOT NULL, token_sha256 bytea NOT NULL,
    -- received_at: first, under this name. held: too many verdicts were about tokens of its kind; it is not handed out.
    received_at timestamptz NOT NULL, expires_at timestamptz, held boolean NOT NULL DEFAULT false, held_at timestamptz,
    PRIMARY KEY (app_id, install_id, kind, name)
);
-- R1: the holder of a token.
CREATE INDEX typed_token_holder ON typed_token (app_id, kind, token_sha256);
-- What is released or restored.
CREATE INDEX typed_token_held ON typed_token (app_id, provider, install_id) WHERE held;
ALTER TABLE typed_token ALTER COLUMN app_id SET (n_distinct = 1);

-- In the tables of the roll-up, the lowest numbers of the column topic (from -2147483647 on) are the kinds: their rows
-- count the tokens that are handed out, by the cell of the installation.

-- A typed token has another holder.
ALTER TYPE event_kind ADD VALUE 'tokenMoved';

-- The night job deletes those that have expired.
ALTER TABLE cleanup_result ADD COLUMN typed_tokens bigint NOT NULL DEFAULT 0;
