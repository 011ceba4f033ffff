-- The roll-up: how many installations there are by app, provider, locale, time zone, OS version, authorization and state. Exact
-- at every moment, and no row of it is hot: a change of installations appends its deltas in its own transaction, which
-- later are folded into cells. Who reads adds both.

-- Whether a push would be let through, but for the session's expiry: that depends on the clock and is corrected when read.
CREATE TYPE reach AS ENUM ('reachable', 'active', 'inactive');

CREATE FUNCTION reach_of(state installation_state, authorization_status authorization_status, provider provider)
RETURNS reach LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN state <> 'active' THEN 'inactive'::reach
    WHEN authorization_status IN ('authorized', 'provisional', 'ephemeral') THEN 'reachable'
    WHEN authorization_status = 'unknown' AND provider NOT IN ('apns', 'apnsSandbox') THEN 'reachable'
    ELSE 'active' END;

-- Expired sessions that still are reachable by the roll-up: what a reader subtracts.
CREATE INDEX installation_expiry ON installation (app_id, session_expires_at)
    WHERE state = 'active' AND session_expires_at IS NOT NULL;

-- The names that AT TIME ZONE takes. pg_timezone_names reads hundreds of files, which is too slow for a question.
CREATE TABLE known_time_zone (
    name text COLLATE "C" PRIMARY KEY
);
INSERT INTO known_time_zone SELECT name FROM pg_timezone_names;

-- What changed, by cell; offsets as they were sent.
CREATE TABLE rollup_delta (
    -- The writing transaction.
    transaction_id xid8 NOT NULL DEFAULT pg_current_xact_id(),
    app_id integer NOT NULL,
    provider provider NOT NULL,
    locale text COLLATE "C" NOT NULL,
    time_zone_id text COLLATE "C" NOT NULL,
    time_zone_offset integer NOT NULL,
    system_name text COLLATE "C" NOT NULL,
    system_version text COLLATE "C" NOT NULL,
    authorization_status authorization_status NOT NULL,
    state installation_state NOT NULL,
    count bigint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
-- A reader begins at the horizon, so that folded rows, which a long snapshot may keep from being vacuumed, cost it nothing.
CREATE INDEX rollup_delta_transaction ON rollup_delta (transaction_id);

-- All deltas of transactions before the horizon are folded.
CREATE TABLE rollup_state (
    singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
    horizon xid8 NOT NULL
);
INSERT INTO rollup_state (horizon) VALUES ('0');

-- A horizon that lies in the future is one of the database that was dumped: it means nothing here.
CREATE FUNCTION rollup_horizon() RETURNS xid8 LANGUAGE sql STABLE
RETURN (SELECT CASE WHEN horizon <= pg_snapshot_xmax(pg_current_snapshot()) THEN horizon ELSE '0'::xid8 END
    FROM rollup_state);

-- The folded counts. `level` is the sum of the dimensions that a cell tells apart: provider 1, locale 2, time zone 4, OS
-- version 8, authorization 16; the others are NULL. 31 is the cube, which has the states too; the single and paired
-- dimensions and the total (0) are its marginals. The offset is that of a zone that is not known, else 0.
CREATE TABLE rollup_cell (
    app_id integer NOT NULL,
    level smallint NOT NULL,
    provider provider,
    locale text COLLATE "C",
    time_zone_id text COLLATE "C",
    time_zone_offset integer,
    system_name text COLLATE "C",
    system_version text COLLATE "C",
    authorization_status authorization_status,
    state installation_state,
    reach reach NOT NULL,
    -- For a moment below 0, where a decrease is folded before the increase that it follows.
    count bigint NOT NULL
) PARTITION BY LIST (level);
CREATE UNIQUE INDEX rollup_cell_key ON rollup_cell
    (app_id, level, provider, locale, time_zone_id, time_zone_offset, system_name, system_version, authorization_status,
        state, reach) NULLS NOT DISTINCT;

DO $$
DECLARE
    level integer;
BEGIN
    FOREACH level IN ARRAY ARRAY[0, 1, 2, 4, 8, 16, 3, 5, 9, 17, 6, 10, 18, 12, 20, 24, 31] LOOP
        EXECUTE format('CREATE TABLE rollup_cell_%s PARTITION OF rollup_cell FOR VALUES IN (%s)
            WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.1)', level, level);
    END LOOP;
END
$$;

-- Deltas that are not folded yet, as cells.
CREATE VIEW rollup_pending AS
SELECT d.app_id, d.provider, d.locale, d.time_zone_id,
    CASE WHEN k.name IS NULL THEN d.time_zone_offset ELSE 0 END AS time_zone_offset, d.system_name, d.system_version,
    d.authorization_status, d.state, reach_of(d.state, d.authorization_status, d.provider) AS reach, d.count
FROM rollup_delta d LEFT JOIN known_time_zone k ON k.name = d.time_zone_id
WHERE d.transaction_id >= (SELECT rollup_horizon());

-- Installations as cells.
CREATE VIEW rollup_installation AS
SELECT i.app_id, i.provider, i.locale, i.time_zone_id,
    CASE WHEN k.name IS NULL THEN i.time_zone_offset ELSE 0 END AS time_zone_offset, i.system_name, i.system_version,
    i.authorization_status, i.state, reach_of(i.state, i.authorization_status, i.provider) AS reach, i.session_expires_at
FROM installation i LEFT JOIN known_time_zone k ON k.name = i.time_zone_id;

-- What is missing from the roll-up by a recount (negative: what is too much), by cell of the cube. It reads everything.
CREATE VIEW rollup_drift AS
SELECT app_id, provider, locale, time_zone_id, time_zone_offset, system_name, system_version, authorization_status, state,
    reach, sum(count) AS count
FROM (
    SELECT app_id, provider, locale, time_zone_id, time_zone_offset, system_name, system_version, authorization_status,
        state, reach, count(*) AS count
    FROM rollup_installation GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
    UNION ALL
    SELECT app_id, provider, locale, time_zone_id, time_zone_offset, system_name, system_version, authorization_status,
        state, reach, -count
    FROM rollup_cell WHERE level = 31
    UNION ALL
    SELECT app_id, provider, locale, time_zone_id, time_zone_offset, system_name, system_version, authorization_status,
        state, reach, -count
    FROM rollup_pending) AS side
GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
HAVING sum(count) <> 0;

-- What is missing from the marginals by the cube.
CREATE VIEW rollup_marginal_drift AS
SELECT app_id, level, provider, locale, time_zone_id, time_zone_offset, system_name, system_version, authorization_status,
    reach, sum(count) AS count
FROM (
    SELECT app_id, 31 - GROUPING(authorization_status, system_version, time_zone_id, locale, provider) AS level, provider,
        locale, time_zone_id, time_zone_offset, system_name, system_version, authorization_status, reach,
        sum(count) AS count
    FROM rollup_cell WHERE level = 31
    GROUP BY app_id, reach, GROUPING SETS (
        (), (provider), (locale), (time_zone_id, time_zone_offset), (system_name, system_version), (authorization_status),
        (provider, locale), (provider, time_zone_id, time_zone_offset), (provider, system_name, system_version),
        (provider, authorization_status),
        (locale, time_zone_id, time_zone_offset), (locale, system_name, system_version), (locale, authorization_status),
        (time_zone_id, time_zone_offset, system_name, system_version),
        (time_zone_id, time_zone_offset, authorization_status),
        (system_name, system_version, authorization_status))
    UNION ALL
    SELECT app_id, level, provider, locale, time_zone_id, time_zone_offset, system_name, system_version,
        authorization_status, reach, -count
    FROM rollup_cell WHERE level <> 31) AS side
GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
HAVING sum(count) <> 0;

-- The changes of one statement, summed by cell. Where no dimension changed, the sums are zero and nothing is written.

CREATE FUNCTION append_rollup_insert() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO rollup_delta (app_id, provider, locale, time_zone_id, time_zone_offset, system_name, system_version,
        authorization_status, state, count)
    SELECT app_id, provider, locale, time_zone_id, time_zone_offset, system_name, system_version,
        authorization_status, state, count(*)
    FROM inserted
    GROUP BY app_id, provider, locale, time_zone_id, time_zone_offset, system_name, system_version,
        authorization_status, state;
    RETURN NULL;
END
$$;

CREATE FUNCTION append_rollup_update() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO rollup_delta (app_id, provider, locale, time_zone_id, time_zone_offset, system_name, system_version,
        authorization_status, state, count)
    SELECT app_id, provider, locale, time_zone_id, time_zone_offset, system_name, system_version,
        authorization_status, state, sum(step)
    FROM (
        SELECT app_id, provider, locale, time_zone_id, time_zone_offset, system_name, system_version,
            authorization_status, state, 1 AS step
        FROM new_row
        UNION ALL
        SELECT app_id, provider, locale, time_zone_id, time_zone_offset, system_name, system_version,
            authorization_status, state, -1
        FROM old_row) AS change
    GROUP BY app_id, provider, locale, time_zone_id, time_zone_offset, system_name, system_version,
        authorization_status, state
    HAVING sum(step) <> 0;
    RETURN NULL;
END
$$;

CREATE FUNCTION append_rollup_delete() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO rollup_delta (app_id, provider, locale, time_zone_id, time_zone_offset, system_name, system_version,
        authorization_status, state, count)
    SELECT app_id, provider, locale, time_zone_id, time_zone_offset, system_name, system_version,
        authorization_status, state, -count(*)
    FROM deleted
    GROUP BY app_id, provider, locale, time_zone_id, time_zone_offset, system_name, system_version,
        authorization_status, state;
    RETURN NULL;
END
$$;

-- One process at a time moves counts between the tables below. The lock is held to the end of the transaction.
CREATE FUNCTION lock_rollup(wait boolean) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    IF NOT wait THEN RETURN pg_try_advisory_xact_lock(hashtext('push-registry: roll-up')); END IF;
    PERFORM pg_advisory_xact_lock(hashtext('push-registry: roll-up'));
    RETURN true;
END
$$;

CREATE FUNCTION reset_rollup() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM lock_rollup(true);
    DELETE FROM rollup_delta;
    DELETE FROM rollup_cell;
    RETURN NULL;
END
$$;

CREATE TRIGGER rollup_insert AFTER INSERT ON installation REFERENCING NEW TABLE AS inserted
    FOR EACH STATEMENT EXECUTE FUNCTION append_rollup_insert();
CREATE TRIGGER rollup_update AFTER UPDATE ON installation REFERENCING OLD TABLE AS old_row NEW TABLE AS new_row
    FOR EACH STATEMENT EXECUTE FUNCTION append_rollup_update();
CREATE TRIGGER rollup_delete AFTER DELETE ON installation REFERENCING OLD TABLE AS deleted
    FOR EACH STATEMENT EXECUTE FUNCTION append_rollup_delete();
CREATE TRIGGER rollup_truncate AFTER TRUNCATE ON installation
    FOR EACH STATEMENT EXECUTE FUNCTION reset_rollup();

-- Folds up to `batch` deltas, the oldest transactions' first, into all levels.
--
-- Returns how many deltas it folded: fewer than `batch` if none is left. NULL if somebody else is folding.
CREATE FUNCTION fold_rollup(batch integer) RETURNS integer LANGUAGE plpgsql
    -- The sessions of requests have these otherwise.
    SET enable_seqscan = on SET enable_hashjoin = on SET enable_mergejoin = on SET plan_cache_mode = auto
    SET work_mem = '64MB' AS $$
DECLARE
    folded integer;
    last_transaction xid8;
    oldest_running xid8;
    emptied tid[];
BEGIN
    IF NOT lock_rollup(false) THEN RETURN NULL; END IF;
    WITH claimed AS (
        DELETE FROM rollup_delta
        WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM rollup_delta WHERE transaction_id >= rollup_horizon()
            ORDER BY transaction_id LIMIT batch))
        RETURNING *
    ), cell AS (
        SELECT d.app_id, d.provider, d.locale, d.time_zone_id,
            CASE WHEN k.name IS NULL THEN d.time_zone_offset ELSE 0 END AS time_zone_offset, d.system_name,
            d.system_version, d.authorization_status, d.state, reach_of(d.state, d.authorization_status, d.provider) AS reach,
            sum(d.count) AS count
        FROM claimed d LEFT JOIN known_time_zone k ON k.name = d.time_zone_id
        GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
        HAVING sum(d.count) <> 0
    ), added AS (
        INSERT INTO rollup_cell AS r (app_id, level, provider, locale, time_zone_id, time_zone_offset, system_name,
            system_version, authorization_status, state, reach, count)
        SELECT app_id, 31 - GROUPING(authorization_status, system_version, time_zone_id, locale, provider), provider, locale,
            time_zone_id, time_zone_offset, system_name, system_version, authorization_status, state, reach, sum(count)
        FROM cell
        GROUP BY app_id, reach, GROUPING SETS (
            (), (provider), (locale), (time_zone_id, time_zone_offset), (system_name, system_version),
            (authorization_status),
            (provider, locale), (provider, time_zone_id, time_zone_offset), (provider, system_name, system_version),
            (provider, authorization_status),
            (locale, time_zone_id, time_zone_offset), (locale, system_name, system_version),
            (locale, authorization_status),
            (time_zone_id, time_zone_offset, system_name, system_version),
            (time_zone_id, time_zone_offset, authorization_status),
            (system_name, system_version, authorization_status),
            (provider, locale, time_zone_id, time_zone_offset, system_name, system_version, authorization_status, state))
        HAVING sum(count) <> 0
        ON CONFLICT (app_id, level, provider, locale, time_zone_id, time_zone_offset, system_name, system_version,
            authorization_status, state, reach)
        DO UPDATE SET count = r.count + excluded.count
        RETURNING ctid, count
    )
    SELECT (SELECT count(*) FROM claimed), (SELECT max(transaction_id) FROM claimed),
        pg_snapshot_xmin(pg_current_snapshot()), (SELECT array_agg(ctid) FROM added WHERE count = 0)
    INTO folded, last_transaction, oldest_running, emptied;
    -- A place may be one of several partitions: whatever cell is there, an empty one may go.
    IF emptied IS NOT NULL THEN DELETE FROM rollup_cell WHERE ctid = ANY (emptied) AND count = 0; END IF;
    IF folded = batch THEN oldest_running := least(oldest_running, last_transaction); END IF;
    -- Not for nothing: an idle service writes nothing.
    IF folded > 0 THEN UPDATE rollup_state SET horizon = oldest_running WHERE horizon <> oldest_running; END IF;
    RETURN folded;
END
$$;

-- What is there already.
INSERT INTO rollup_delta (app_id, provider, locale, time_zone_id, time_zone_offset, system_name, system_version,
    authorization_status, state, count)
SELECT app_id, provider, locale, time_zone_id, time_zone_offset, system_name, system_version, authorization_status, state,
    count(*)
FROM rollup_installation
GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9;
SELECT fold_rollup(2147483647);
