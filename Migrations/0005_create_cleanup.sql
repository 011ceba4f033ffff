-- The night job: the results of each run, by app.

CREATE TABLE cleanup_run (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- The run that this one undid.
    undoes integer REFERENCES cleanup_run,
    -- Runs do not overlap, so the time of a change identifies the run that made it.
    started_at timestamptz NOT NULL, finished_at timestamptz,
    -- refused: the run held back at least one app. interrupted: the next run found this run unfinished.
    outcome text NOT NULL DEFAULT 'running'
        CHECK (outcome IN ('running', 'done', 'refused', 'failed', 'interrupted')),
    -- The process and the machine.
    process text NOT NULL,
    -- The identifiers of the apps that the run was limited to. NULL: all apps, and history.
    apps text[],
    -- The largest share of an app's active installations that the run was allowed to retire.
    max_share double precision,
    -- Of all apps together: logouts forgotten, partitions created and dropped, rows of history deleted from default
    -- partitions.
    tombstones bigint NOT NULL DEFAULT 0, partitions_made bigint NOT NULL DEFAULT 0,
    partitions_dropped bigint NOT NULL DEFAULT 0, history_removed bigint NOT NULL DEFAULT 0
);

-- The counts of a run in an app so far, written in the transaction of each batch.
CREATE TABLE cleanup_result (
    run_id integer NOT NULL REFERENCES cleanup_run, app_id integer NOT NULL,
    -- Before the run: the active installations, and how many of them the run would retire.
    active bigint NOT NULL DEFAULT 0,
    leaving bigint NOT NULL DEFAULT 0, refused boolean NOT NULL DEFAULT false, superseded bigint NOT NULL DEFAULT 0,
    unregistered bigint NOT NULL DEFAULT 0, session_ended bigint NOT NULL DEFAULT 0, stale bigint NOT NULL DEFAULT 0,
    purged bigint NOT NULL DEFAULT 0, typed_tokens bigint NOT NULL DEFAULT 0,
    -- Of a run that undoes another run.
    restored bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (run_id, app_id)
);
