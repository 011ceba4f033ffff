-- The roll-up: how many installations there are by app, provider, locale, time zone, OS version, authorization and state. Exact
-- at every moment, and no row of it is hot: a change of installations appends its deltas in its own transaction, which later are
-- folded into cells. Who reads adds both.

-- Whether a push would be let through, as far as the roll-up knows: of sessions it knows that they expired until `swept`.
CREATE TYPE reach AS ENUM ('reachable', 'active', 'inactive');

CREATE FUNCTION reach_of(state installation_state, authorization_status authorization_status, provider provider,
    session_expires_at timestamptz, swept timestamptz)
RETURNS reach LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN state <> 'active' THEN 'inactive'::reach
    WHEN session_expires_at <= swept THEN 'active'
    WHEN authorization_status IN ('authorized', 'provisional', 'ephemeral') THEN 'reachable'
    WHEN authorization_status = 'unknown' AND provider NOT IN ('apns', 'apnsSandbox') THEN 'reachable'
    ELSE 'active' END;

-- Sessions that expire: folding follows the clock along this index, and a reader looks only at what expired since then.
-- Without the state, a change of which would not be heap-only otherwise.
CREATE INDEX installation_expiry ON installation (session_expires_at)
    WHERE session_expires_at IS NOT NULL;

-- The names that AT TIME ZONE takes. pg_timezone_names reads hundreds of files, which is too slow for a question.
CREATE TABLE known_time_zone (
    name text COLLATE "C" PRIMARY KEY
);
INSERT INTO known_time_zone SELECT name FROM pg_timezone_names;

-- The dotted number that a version begins with, without trailing zeros, of at most 16 parts: 17.10 is above 17.9, and 17 is 17.0. NULL
-- without a digit at the beginning. A number beyond 64 bits counts as the largest one. As PushRegistry's Version reads it.
CREATE FUNCTION version_key(version text) RETURNS bigint[] LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
    -- As nearly all are: too short for large numbers and for many of them, and nothing behind the number.
    IF length(version) <= 18 AND version ~ '^[0-9]+(\.[0-9]+)*$' THEN
        RETURN string_to_array(
            CASE WHEN version ~ '0$' THEN regexp_replace(version, '(?:^0+|\.0+)+$', '') ELSE version END, '.');
    ELSIF version !~ '^[0-9]' THEN
        RETURN NULL;
    END IF;
    RETURN (
        SELECT coalesce(array_agg(least(part::numeric, 9223372036854775807)::bigint ORDER BY place), '{}')
        FROM string_to_table(
            regexp_replace(substring(version FROM '^[0-9]+(?:\.[0-9]+){0,15}'), '(?:^0+|\.0+)+$', ''), '.')
            WITH ORDINALITY AS parts (part, place)
        WHERE part <> '');
END
$$;

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
    -- Of an active installation.
    session_expires_at timestamptz,
    count bigint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
-- A reader begins at the horizon, so that folded rows, which a long snapshot may keep from being vacuumed, cost it nothing.
CREATE INDEX rollup_delta_transaction ON rollup_delta (transaction_id);

CREATE TABLE rollup_state (
    singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
    -- All deltas of transactions before it are folded.
    horizon xid8 NOT NULL,
    -- Sessions that expired until then are counted as expired.
    swept timestamptz NOT NULL
);
INSERT INTO rollup_state (horizon, swept) VALUES ('0', now());

-- A horizon that lies in the future is one of the database that was dumped: it means nothing here.
CREATE FUNCTION rollup_horizon() RETURNS xid8 LANGUAGE sql STABLE
RETURN (SELECT CASE WHEN horizon <= pg_snapshot_xmax(pg_current_snapshot()) THEN horizon ELSE '0'::xid8 END
    FROM rollup_state);

CREATE FUNCTION rollup_swept() RETURNS timestamptz LANGUAGE sql STABLE
RETURN (SELECT swept FROM rollup_state);

-- The folded counts. `level` is the sum of the dimensions that a cell tells apart: provider 1, locale 2, time zone 4, OS
-- version 8, authorization 16; the others are NULL. 31 is the cube, which has the states too; the single and paired
-- dimensions and the total (0) are its marginals. The offset is that of a zone that is not known, else 0.
CREATE TABLE rollup_cell (
    -- What every question reads comes first, and has a fixed width. For a moment the count is below 0, where a decrease is
    -- folded before the increase that it follows.
    count bigint NOT NULL,
    app_id integer NOT NULL,
    reach reach NOT NULL,
    level smallint NOT NULL,
    provider provider,
    authorization_status authorization_status,
    state installation_state,
    time_zone_offset integer,
    locale text COLLATE "C",
    time_zone_id text COLLATE "C",
    system_name text COLLATE "C",
    system_version text COLLATE "C",
    -- Once for each cell and not for each question.
    system_version_key bigint[] GENERATED ALWAYS AS (version_key(system_version)) STORED
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
    version_key(d.system_version) AS system_version_key, d.authorization_status, d.state,
    reach_of(d.state, d.authorization_status, d.provider, d.session_expires_at, (SELECT rollup_swept())) AS reach,
    d.session_expires_at, d.count
FROM rollup_delta d LEFT JOIN known_time_zone k ON k.name = d.time_zone_id
WHERE d.transaction_id >= (SELECT rollup_horizon());

-- Installations as cells.
CREATE VIEW rollup_installation AS
SELECT i.app_id, i.provider, i.locale, i.time_zone_id,
    CASE WHEN k.name IS NULL THEN i.time_zone_offset ELSE 0 END AS time_zone_offset, i.system_name, i.system_version,
    version_key(i.system_version) AS system_version_key, i.authorization_status, i.state,
    reach_of(i.state, i.authorization_status, i.provider, i.session_expires_at, (SELECT rollup_swept())) AS reach,
    i.session_expires_at
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
        authorization_status, state, session_expires_at, count)
    SELECT app_id, provider, locale, time_zone_id, time_zone_offset, system_name, system_version,
        authorization_status, state, CASE WHEN state = 'active' THEN session_expires_at END, count(*)
    FROM inserted
    GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10;
    RETURN NULL;
END
$$;

CREATE FUNCTION append_rollup_update() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO rollup_delta (app_id, provider, locale, time_zone_id, time_zone_offset, system_name, system_version,
        authorization_status, state, session_expires_at, count)
    SELECT app_id, provider, locale, time_zone_id, time_zone_offset, system_name, system_version,
        authorization_status, state, CASE WHEN state = 'active' THEN session_expires_at END, sum(step)
    FROM (
        SELECT app_id, provider, locale, time_zone_id, time_zone_offset, system_name, system_version,
            authorization_status, state, session_expires_at, 1 AS step
        FROM new_row
        UNION ALL
        SELECT app_id, provider, locale, time_zone_id, time_zone_offset, system_name, system_version,
            authorization_status, state, session_expires_at, -1
        FROM old_row) AS change
    GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
    HAVING sum(step) <> 0;
    RETURN NULL;
END
$$;

CREATE FUNCTION append_rollup_delete() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO rollup_delta (app_id, provider, locale, time_zone_id, time_zone_offset, system_name, system_version,
        authorization_status, state, session_expires_at, count)
    SELECT app_id, provider, locale, time_zone_id, time_zone_offset, system_name, system_version,
        authorization_status, state, CASE WHEN state = 'active' THEN session_expires_at END, -count(*)
    FROM deleted
    GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10;
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

-- Folds up to `batch` deltas, the oldest transactions' first, into all levels; and about as many of the sessions that have expired
-- since it last looked.
--
-- Returns how many deltas it folded: fewer than `batch` if none is left. NULL if somebody else is folding.
CREATE FUNCTION fold_rollup(batch integer) RETURNS integer LANGUAGE plpgsql
    -- The sessions of requests have these otherwise.
    SET enable_seqscan = on SET enable_hashjoin = on SET enable_mergejoin = on SET plan_cache_mode = auto
    SET work_mem = '64MB' AS $$
DECLARE
    swept_before timestamptz;
    swept_now timestamptz;
    folded integer;
    last_transaction xid8;
    oldest_running xid8;
    emptied tid[];
BEGIN
    IF NOT lock_rollup(false) THEN RETURN NULL; END IF;
    swept_before := rollup_swept();
    SELECT coalesce(max(e.session_expires_at), swept_before) INTO swept_now
    FROM (
        SELECT session_expires_at FROM installation
        WHERE state = 'active' AND session_expires_at > swept_before AND session_expires_at <= now()
        ORDER BY session_expires_at LIMIT batch) AS e;
    WITH claimed AS (
        DELETE FROM rollup_delta
        WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM rollup_delta WHERE transaction_id >= rollup_horizon()
            ORDER BY transaction_id LIMIT batch))
        RETURNING *
    ), expired AS (
        -- Of the installations that the cells have: all of this snapshot, without what is pending in it.
        SELECT app_id, provider, locale, time_zone_id, time_zone_offset, system_name, system_version, authorization_status,
            state, 1 AS count
        FROM rollup_installation
        WHERE state = 'active' AND session_expires_at > swept_before AND session_expires_at <= swept_now
            AND reach = 'reachable'
        UNION ALL
        SELECT app_id, provider, locale, time_zone_id, time_zone_offset, system_name, system_version, authorization_status,
            state, -count
        FROM rollup_pending
        WHERE session_expires_at > swept_before AND session_expires_at <= swept_now AND reach = 'reachable'
    ), cell AS (
        SELECT app_id, provider, locale, time_zone_id, time_zone_offset, system_name, system_version, authorization_status,
            state, reach, sum(count) AS count
        FROM (
            SELECT d.app_id, d.provider, d.locale, d.time_zone_id,
                CASE WHEN k.name IS NULL THEN d.time_zone_offset ELSE 0 END AS time_zone_offset, d.system_name,
                d.system_version, d.authorization_status, d.state,
                reach_of(d.state, d.authorization_status, d.provider, d.session_expires_at, swept_now) AS reach, d.count
            FROM claimed d LEFT JOIN known_time_zone k ON k.name = d.time_zone_id
            UNION ALL
            SELECT app_id, provider, locale, time_zone_id, time_zone_offset, system_name, system_version,
                authorization_status, state, m.reach, m.sign * count
            FROM expired CROSS JOIN (VALUES ('reachable'::reach, -1), ('active', 1)) AS m (reach, sign)) AS change
        GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
        HAVING sum(count) <> 0
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
    IF folded > 0 OR swept_now > swept_before THEN
        UPDATE rollup_state SET horizon = CASE WHEN folded > 0 THEN oldest_running ELSE horizon END, swept = swept_now;
    END IF;
    RETURN folded;
END
$$;

-- Corrects the roll-up by a recount. No writer waits, and what they change meanwhile is not lost: roll-up and installations are
-- compared in one snapshot, and the differences are appended as deltas, to which those of others add up.

-- Brings the marginals in line with the cube, after removing cells that are no cells. Folding waits, for about a second.
-- Returns how many cells were wrong.
CREATE FUNCTION align_rollup() RETURNS bigint LANGUAGE plpgsql
    SET enable_seqscan = on SET enable_hashjoin = on SET enable_mergejoin = on SET plan_cache_mode = auto
    SET work_mem = '64MB' AS $$
DECLARE
    removed bigint;
    aligned bigint;
BEGIN
    PERFORM lock_rollup(true);
    INSERT INTO rollup_state (horizon, swept) VALUES ('0', now()) ON CONFLICT (singleton) DO UPDATE SET horizon = '0';
    DELETE FROM rollup_cell c
    WHERE level = 31 AND (reach NOT IN (reach_of(state, authorization_status, provider, NULL, NULL),
            reach_of(state, authorization_status, provider, '-infinity', now()))
        OR time_zone_offset <> 0 AND EXISTS (SELECT FROM known_time_zone k WHERE k.name = c.time_zone_id));
    GET DIAGNOSTICS removed = ROW_COUNT;
    INSERT INTO rollup_cell AS r (app_id, level, provider, locale, time_zone_id, time_zone_offset, system_name, system_version,
        authorization_status, reach, count)
    SELECT app_id, level, provider, locale, time_zone_id, time_zone_offset, system_name, system_version, authorization_status,
        reach, count
    FROM rollup_marginal_drift
    ON CONFLICT (app_id, level, provider, locale, time_zone_id, time_zone_offset, system_name, system_version,
        authorization_status, state, reach)
    DO UPDATE SET count = r.count + excluded.count;
    GET DIAGNOSTICS aligned = ROW_COUNT;
    DELETE FROM rollup_cell WHERE count = 0;
    RETURN removed + aligned;
END
$$;

-- Appends the differences to a recount. Returns how many cells of the cube were wrong.
CREATE FUNCTION append_rollup_corrections() RETURNS bigint LANGUAGE plpgsql
    SET enable_seqscan = on SET enable_hashjoin = on SET enable_mergejoin = on SET plan_cache_mode = auto
    SET work_mem = '64MB' AS $$
DECLARE
    corrected bigint;
BEGIN
    -- Two at a time would correct twice.
    PERFORM pg_advisory_xact_lock(hashtext('push-registry: roll-up corrections'));
    INSERT INTO rollup_delta (app_id, provider, locale, time_zone_id, time_zone_offset, system_name, system_version,
        authorization_status, state, session_expires_at, count)
    SELECT app_id, provider, locale, time_zone_id, time_zone_offset, system_name, system_version, authorization_status, state,
        CASE WHEN reach <> reach_of(state, authorization_status, provider, NULL, NULL) THEN '-infinity'::timestamptz END, count
    FROM rollup_drift;
    GET DIAGNOSTICS corrected = ROW_COUNT;
    RETURN corrected;
END
$$;

-- What a process does before it folds: it learns the names of time zones anew, which an upgrade of PostgreSQL or tzdata may have
-- changed, and finds again the deltas of a restored dump, whose transactions' numbers mean nothing here. Returns how many zones
-- came or went.
CREATE FUNCTION prepare_rollup() RETURNS bigint LANGUAGE plpgsql
    SET enable_seqscan = on SET enable_hashjoin = on SET enable_mergejoin = on SET plan_cache_mode = auto AS $$
DECLARE
    came text[];
    went text[];
BEGIN
    IF EXISTS (SELECT FROM rollup_delta WHERE transaction_id < (SELECT horizon FROM rollup_state)) THEN
        PERFORM lock_rollup(true);
        UPDATE rollup_state SET horizon = '0';
    END IF;
    SELECT array_agg(t.name) FILTER (WHERE k.name IS NULL), array_agg(k.name) FILTER (WHERE t.name IS NULL)
    INTO came, went
    FROM pg_timezone_names t FULL JOIN known_time_zone k ON k.name = t.name
    WHERE t.name IS NULL OR k.name IS NULL;
    IF came IS NULL AND went IS NULL THEN RETURN 0; END IF;
    PERFORM lock_rollup(true);
    DELETE FROM known_time_zone WHERE name = ANY (went);
    INSERT INTO known_time_zone SELECT unnest(came) ON CONFLICT DO NOTHING;
    -- What was sent for a zone that is known now no longer tells cells apart.
    WITH moved AS (
        DELETE FROM rollup_cell WHERE time_zone_id = ANY (came) AND time_zone_offset <> 0 RETURNING *
    )
    INSERT INTO rollup_cell AS r (app_id, level, provider, locale, time_zone_id, time_zone_offset, system_name, system_version,
        authorization_status, state, reach, count)
    SELECT app_id, level, provider, locale, time_zone_id, 0, system_name, system_version, authorization_status, state, reach,
        sum(count)
    FROM moved
    GROUP BY 1, 2, 3, 4, 5, 7, 8, 9, 10, 11
    ON CONFLICT (app_id, level, provider, locale, time_zone_id, time_zone_offset, system_name, system_version,
        authorization_status, state, reach)
    DO UPDATE SET count = r.count + excluded.count;
    -- What was sent for a zone that is known no more has to be read again.
    IF went IS NOT NULL THEN PERFORM append_rollup_corrections(); END IF;
    RETURN coalesce(cardinality(came), 0) + coalesce(cardinality(went), 0);
END
$$;

-- What is there already.
SELECT append_rollup_corrections();
SELECT fold_rollup(2147483647);
