-- The night job: what each run did, and what is needed to undo it.

CREATE TABLE cleanup_run (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- The run that this one undid.
    undoes integer REFERENCES cleanup_run,
    -- Runs do not overlap in time: what a run changed is found by when it changed.
    started_at timestamptz NOT NULL,
    finished_at timestamptz,
    -- refused: the breaker held at least one app back. interrupted: found unfinished by the next run.
    outcome text NOT NULL DEFAULT 'running'
        CHECK (outcome IN ('running', 'done', 'refused', 'failed', 'interrupted')),
    -- Where it ran.
    process text NOT NULL,
    -- The identifiers of the apps that it was limited to. NULL: all apps, and history.
    apps text[],
    -- The share of an app's active installations that the breaker let go.
    max_share double precision,
    -- Of all apps: logouts that were forgotten, partitions created and dropped, rows of history removed from default
    -- partitions.
    tombstones bigint NOT NULL DEFAULT 0,
    partitions_made bigint NOT NULL DEFAULT 0,
    partitions_dropped bigint NOT NULL DEFAULT 0,
    history_removed bigint NOT NULL DEFAULT 0
);

-- What a run did in an app so far: written with each batch, in its transaction.
CREATE TABLE cleanup_result (
    run_id integer NOT NULL REFERENCES cleanup_run,
    app_id integer NOT NULL,
    -- Before the run: active installations, and how many of them were to leave.
    active bigint NOT NULL DEFAULT 0,
    leaving bigint NOT NULL DEFAULT 0,
    refused boolean NOT NULL DEFAULT false,
    superseded bigint NOT NULL DEFAULT 0,
    unregistered bigint NOT NULL DEFAULT 0,
    session_ended bigint NOT NULL DEFAULT 0,
    stale bigint NOT NULL DEFAULT 0,
    purged bigint NOT NULL DEFAULT 0,
    -- Of a run that undoes another.
    restored bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (run_id, app_id)
);

-- What the newest run that took a token or a session from an installation took. Tokens in here are as secret as those
-- in `installation`. The user is not in it: the event names the user, and an erasure removes it there. What became
-- stale or unregistered lost nothing: the event tells its former state. Whoever deletes an installation deletes its row
-- here. There is no foreign key, which would be checked row by row.
CREATE TABLE cleanup_change (
    app_id integer NOT NULL,
    install_id text COLLATE "C" NOT NULL,
    run_id integer NOT NULL,
    step text NOT NULL,
    -- After the change: while the installation has it, nothing else has happened to its binding.
    generation bigint NOT NULL,
    previous_state installation_state NOT NULL,
    -- Of what was superseded.
    token text COLLATE "C",
    token_sha256 bytea,
    p256dh text COLLATE "C",
    auth text COLLATE "C",
    -- Of a session that had expired.
    session_id text COLLATE "C",
    session_expires_at timestamptz,
    credential_issued_at timestamptz,
    PRIMARY KEY (app_id, install_id)
);
