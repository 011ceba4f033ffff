-- When keys were last used, to the hour, so that an operator can revoke an unused key. A separate table, because a
-- change of `api_key` makes every service read all apps and keys again.

CREATE TABLE api_key_use (
    key_id text COLLATE "C" PRIMARY KEY REFERENCES api_key, last_used_at timestamptz NOT NULL
);
