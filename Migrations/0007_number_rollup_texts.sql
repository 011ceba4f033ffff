-- The roll-up's cells hold numbers instead of texts, and all three counts in one row: a breakdown of thousands of groups groups small
-- integers, or reads the largest groups off an index; a filter looks at each text once and not at each cell.

-- What is folded becomes pending again, and is folded anew at the end.
SELECT lock_rollup(true);
INSERT INTO rollup_delta (app_id, provider, locale, time_zone_id, time_zone_offset, system_name, system_version,
    authorization_status, state, session_expires_at, count)
SELECT app_id, provider, locale, time_zone_id, time_zone_offset, system_name, system_version, authorization_status, state,
    CASE WHEN reach <> reach_of(state, authorization_status, provider, NULL, NULL) THEN '-infinity'::timestamptz END, count
FROM rollup_cell WHERE level = 31;
DROP VIEW rollup_drift, rollup_marginal_drift;
DROP TABLE rollup_cell;

-- A sum of counts that makes no numeric of each, which is most of what sum(bigint) takes.
CREATE AGGREGATE sum_counts(bigint) (SFUNC = int8pl, STYPE = bigint, INITCOND = '0', COMBINEFUNC = int8pl, PARALLEL = SAFE);

-- Every text that cells tell apart: locales, zones, names of systems, versions.
CREATE TABLE rollup_text (
    number integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    text text COLLATE "C" NOT NULL UNIQUE,
    version_key bigint[] GENERATED ALWAYS AS (version_key(text)) STORED,
    -- The number of one of the texts that are the same version, which stands for them: 17 and 17.0 are one. 0 is no version.
    version_number integer NOT NULL DEFAULT 0
);
CREATE INDEX rollup_text_version ON rollup_text (version_key) WHERE version_key IS NOT NULL;

-- The folded counts. `level` is the sum of the dimensions that a cell tells apart: provider 1, locale 2, time zone 4, version 8,
-- authorization 16, the system's name (and how it spells the version) 32, the offset that was sent 64, state 128. Others are 0 or
-- NULL. 255 is the cube; the others are its marginals, down to the total.
CREATE TABLE rollup_cell (
    -- For a moment a count is below 0, where a decrease is folded before the increase that it follows. As far as the roll-up knows, a
    -- push reaches these: of sessions it knows that they expired until `swept`.
    reachable bigint NOT NULL,
    active bigint NOT NULL,
    installations bigint NOT NULL,
    app_id integer NOT NULL,
    level smallint NOT NULL,
    -- Which counts were above 0 before the last change: reachable 1, active 2, installations 4.
    counted_before smallint NOT NULL DEFAULT 0,
    locale_number integer NOT NULL DEFAULT 0,
    zone_number integer NOT NULL DEFAULT 0,
    -- Of a zone that is not known, else 0.
    time_zone_offset integer NOT NULL DEFAULT 0,
    version_number integer NOT NULL DEFAULT 0,
    system_number integer NOT NULL DEFAULT 0,
    spelling_number integer NOT NULL DEFAULT 0,
    provider provider,
    authorization_status authorization_status,
    state installation_state
) PARTITION BY LIST (level);
CREATE UNIQUE INDEX rollup_cell_key ON rollup_cell
    (app_id, locale_number, zone_number, time_zone_offset, version_number, system_number, spelling_number, provider,
        authorization_status, state, level) NULLS NOT DISTINCT;

DO $$
DECLARE
    level integer;
BEGIN
    FOREACH level IN ARRAY ARRAY[
        0, 1, 2, 16, 40, 68, 128, 3, 17, 18, 41, 42, 56, 69, 70, 84, 108, 10, 12, 19, 57, 71, 85, 86, 11, 13, 14, 26, 28, 255] LOOP
        EXECUTE format('CREATE TABLE rollup_cell_%s PARTITION OF rollup_cell FOR VALUES IN (%s)
            WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.1)', level, level);
    END LOOP;
END
$$;

-- Breakdowns by these have thousands of groups, each of which is one cell: the largest are found without looking at the rest.
CREATE INDEX ON rollup_cell_10 (app_id, reachable);
CREATE INDEX ON rollup_cell_11 (app_id, reachable);
CREATE INDEX ON rollup_cell_12 (app_id, reachable);
CREATE INDEX ON rollup_cell_13 (app_id, reachable);
CREATE INDEX ON rollup_cell_14 (app_id, reachable);
CREATE INDEX ON rollup_cell_26 (app_id, reachable);
CREATE INDEX ON rollup_cell_28 (app_id, reachable);

-- How many cells of theirs are not empty.
CREATE TABLE rollup_size (
    app_id integer NOT NULL,
    level smallint NOT NULL,
    reachable bigint NOT NULL,
    active bigint NOT NULL,
    installations bigint NOT NULL,
    PRIMARY KEY (app_id, level)
);

CREATE VIEW rollup_ranked_level AS
SELECT app_id, level, count(*) FILTER (WHERE reachable > 0) AS reachable, count(*) FILTER (WHERE active > 0) AS active,
    count(*) FILTER (WHERE installations > 0) AS installations
FROM rollup_cell WHERE level IN (10, 11, 12, 13, 14, 26, 28) GROUP BY app_id, level;

CREATE VIEW rollup_size_drift AS
SELECT app_id, level, reachable, active, installations
FROM rollup_ranked_level AS cell FULL JOIN rollup_size AS size USING (app_id, level, reachable, active, installations)
WHERE cell IS NULL OR size IS NULL;

-- The cube with its texts, by reach.
CREATE VIEW rollup_cube AS
SELECT c.app_id, c.provider, l.text AS locale, z.text AS time_zone_id, c.time_zone_offset, s.text AS system_name,
    v.text AS system_version, c.authorization_status, c.state, r.reach, r.count
FROM rollup_cell_255 c
    JOIN rollup_text l ON l.number = c.locale_number JOIN rollup_text z ON z.number = c.zone_number
    JOIN rollup_text s ON s.number = c.system_number JOIN rollup_text v ON v.number = c.spelling_number
    CROSS JOIN LATERAL (VALUES ('reachable'::reach, c.reachable), ('active', c.active - c.reachable),
        ('inactive', c.installations - c.active)) AS r (reach, count);

-- What is missing from the roll-up by a recount (negative: what is too much), by cell of the cube. It reads everything.
CREATE VIEW rollup_drift AS
SELECT app_id, provider, locale, time_zone_id, time_zone_offset, system_name, system_version, authorization_status, state, reach,
    sum(count) AS count
FROM (
    SELECT app_id, provider, locale, time_zone_id, time_zone_offset, system_name, system_version, authorization_status, state,
        reach, count(*) AS count
    FROM rollup_installation GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
    UNION ALL
    SELECT app_id, provider, locale, time_zone_id, time_zone_offset, system_name, system_version, authorization_status, state,
        reach, -count
    FROM rollup_cube
    UNION ALL
    SELECT app_id, provider, locale, time_zone_id, time_zone_offset, system_name, system_version, authorization_status, state,
        reach, -count
    FROM rollup_pending) AS side
GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
HAVING sum(count) <> 0;

-- What is missing from the marginals by the cube.
CREATE VIEW rollup_marginal_drift AS
SELECT app_id, level, provider, locale_number, zone_number, time_zone_offset, version_number, system_number, spelling_number,
    authorization_status, state, sum(reachable) AS reachable, sum(active) AS active, sum(installations) AS installations
FROM (
    SELECT app_id, 255 - GROUPING(state, time_zone_offset, system_number, authorization_status, version_number, zone_number,
            locale_number, provider) AS level, provider, coalesce(locale_number, 0) AS locale_number,
        coalesce(zone_number, 0) AS zone_number, coalesce(time_zone_offset, 0) AS time_zone_offset,
        coalesce(version_number, 0) AS version_number, coalesce(system_number, 0) AS system_number,
        coalesce(spelling_number, 0) AS spelling_number, authorization_status, state, sum(reachable) AS reachable,
        sum(active) AS active, sum(installations) AS installations
    FROM rollup_cell_255
    GROUP BY app_id, GROUPING SETS (
            (), (provider), (locale_number), (authorization_status), (state), (version_number, system_number, spelling_number),
            (zone_number, time_zone_offset), (provider, locale_number), (provider, authorization_status),
            (locale_number, authorization_status), (provider, version_number, system_number, spelling_number),
            (locale_number, version_number, system_number, spelling_number),
            (version_number, system_number, spelling_number, authorization_status),
            (provider, zone_number, time_zone_offset), (locale_number, zone_number, time_zone_offset),
            (zone_number, time_zone_offset, authorization_status),
            (zone_number, time_zone_offset, version_number, system_number, spelling_number),
            (locale_number, version_number), (zone_number, version_number),
            (provider, locale_number, authorization_status),
            (provider, version_number, system_number, spelling_number, authorization_status),
            (provider, locale_number, zone_number, time_zone_offset),
            (provider, zone_number, time_zone_offset, authorization_status),
            (locale_number, zone_number, time_zone_offset, authorization_status),
            (provider, locale_number, version_number), (provider, zone_number, version_number),
            (locale_number, zone_number, version_number), (locale_number, version_number, authorization_status),
            (zone_number, version_number, authorization_status))
    UNION ALL
    SELECT app_id, level, provider, locale_number, zone_number, time_zone_offset, version_number, system_number, spelling_number,
        authorization_status, state, -reachable, -active, -installations
    FROM rollup_cell WHERE level <> 255) AS side
GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
HAVING sum(reachable) <> 0 OR sum(active) <> 0 OR sum(installations) <> 0;

-- Numbers those of the texts that have none yet, and returns these numbers. Whoever calls it has locked the roll-up.
CREATE FUNCTION number_rollup_texts(texts text[]) RETURNS integer[] LANGUAGE plpgsql AS $$
DECLARE
    added integer[];
BEGIN
    WITH inserted AS (
        INSERT INTO rollup_text (text)
        SELECT DISTINCT n.text FROM unnest(texts) AS n (text)
        WHERE NOT EXISTS (SELECT FROM rollup_text t WHERE t.text = n.text)
        RETURNING number)
    SELECT array_agg(number) INTO added FROM inserted;
    IF added IS NULL THEN RETURN '{}'; END IF;
    UPDATE rollup_text t SET version_number = (
        SELECT coalesce(max(same.version_number) FILTER (WHERE same.version_number <> 0), min(same.number))
        FROM rollup_text same WHERE same.version_key = t.version_key)
    WHERE number = ANY (added) AND version_key IS NOT NULL;
    RETURN added;
END
$$;

-- Removes cells among these places that count nothing, and those of their texts and of these numbers that no cell has. A place may
-- be one of several partitions: whatever cell is there, an empty one may go.
CREATE FUNCTION tidy_rollup(places tid[], numbers integer[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    unused integer[];
BEGIN
    WITH removed AS (
        DELETE FROM rollup_cell
        WHERE ctid = ANY (places) AND reachable = 0 AND active = 0 AND installations = 0
        RETURNING *)
    SELECT array_agg(DISTINCT n.number) INTO unused
    FROM removed, unnest(ARRAY[locale_number, zone_number, version_number, system_number, spelling_number]) AS n (number)
    WHERE level = 255;
    -- Nearly all are told by a marginal to be in use; where one sums up to nothing, the cube may have them all the same.
    SELECT array_agg(number) INTO unused FROM rollup_text t
    WHERE number = ANY (numbers || unused)
        AND NOT EXISTS (SELECT FROM rollup_cell_2 WHERE locale_number = t.number)
        AND NOT EXISTS (SELECT FROM rollup_cell_68 WHERE zone_number = t.number)
        AND NOT EXISTS (
            SELECT FROM rollup_cell_40 WHERE t.number IN (version_number, system_number, spelling_number));
    IF unused IS NOT NULL THEN
        DELETE FROM rollup_text WHERE number = ANY (unused) AND number NOT IN (
            SELECT unnest(ARRAY[locale_number, zone_number, version_number, system_number, spelling_number])
            FROM rollup_cell_255);
    END IF;
    DELETE FROM rollup_size WHERE installations = 0;
END
$$;

-- Folds up to `batch` deltas, the oldest transactions' first, into all levels; and about as many of the sessions that have expired
-- since it last looked.
--
-- Returns how many deltas it folded: fewer than `batch` if none is left. NULL if somebody else is folding.
CREATE OR REPLACE FUNCTION fold_rollup(batch integer) RETURNS integer LANGUAGE plpgsql
    -- The sessions of requests have these otherwise.
    SET enable_seqscan = on SET enable_hashjoin = on SET enable_mergejoin = on SET plan_cache_mode = auto
    SET work_mem = '64MB' AS $$
DECLARE
    swept_before timestamptz;
    swept_now timestamptz;
    folded integer;
    places tid[];
    fresh integer[];
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
    -- They stay where they are: only who has locked the roll-up removes deltas.
    SELECT count(*), array_agg(place), max(transaction_id), pg_snapshot_xmin(pg_current_snapshot())
    INTO folded, places, last_transaction, oldest_running
    FROM (
        SELECT ctid AS place, transaction_id FROM rollup_delta WHERE transaction_id >= rollup_horizon()
        ORDER BY transaction_id LIMIT batch) AS d;
    -- Not for nothing: an idle service writes nothing.
    IF folded = 0 AND swept_now = swept_before THEN RETURN 0; END IF;
    -- Those of expired sessions too: where a decrease was folded before the increase that it follows, no cell may have them.
    fresh := number_rollup_texts(ARRAY(
        SELECT DISTINCT n.text
        FROM (
            SELECT locale, time_zone_id, system_name, system_version FROM rollup_delta WHERE ctid = ANY (places)
            UNION ALL
            SELECT locale, time_zone_id, system_name, system_version FROM rollup_installation
            WHERE state = 'active' AND session_expires_at > swept_before AND session_expires_at <= swept_now
            UNION ALL
            SELECT locale, time_zone_id, system_name, system_version FROM rollup_pending
            WHERE session_expires_at > swept_before AND session_expires_at <= swept_now) AS c,
            unnest(ARRAY[locale, time_zone_id, system_name, system_version]) AS n (text)));
    WITH claimed AS (
        DELETE FROM rollup_delta WHERE ctid = ANY (places) RETURNING *
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
    ), change AS (
        SELECT d.app_id, d.provider, d.locale, d.time_zone_id,
            CASE WHEN k.name IS NULL THEN d.time_zone_offset ELSE 0 END AS time_zone_offset, d.system_name,
            d.system_version, d.authorization_status, d.state,
            CASE reach_of(d.state, d.authorization_status, d.provider, d.session_expires_at, swept_now)
                WHEN 'reachable' THEN d.count ELSE 0 END AS reachable,
            CASE d.state WHEN 'active' THEN d.count ELSE 0 END AS active, d.count AS installations
        FROM claimed d LEFT JOIN known_time_zone k ON k.name = d.time_zone_id
        UNION ALL
        SELECT app_id, provider, locale, time_zone_id, time_zone_offset, system_name, system_version,
            authorization_status, state, -count, 0, 0
        FROM expired
    ), numbered AS (
        SELECT c.app_id, c.provider, l.number AS locale_number, z.number AS zone_number, c.time_zone_offset,
            v.version_number, s.number AS system_number, v.number AS spelling_number, c.authorization_status, c.state,
            sum_counts(c.reachable) AS reachable, sum_counts(c.active) AS active,
            sum_counts(c.installations) AS installations
        FROM change c
            JOIN rollup_text l ON l.text = c.locale JOIN rollup_text z ON z.text = c.time_zone_id
            JOIN rollup_text s ON s.text = c.system_name JOIN rollup_text v ON v.text = c.system_version
        GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
    ), added AS (
        INSERT INTO rollup_cell AS r (app_id, level, provider, locale_number, zone_number, time_zone_offset, version_number, system_number, spelling_number,
        authorization_status, state, reachable, active, installations)
        SELECT app_id, 255 - GROUPING(state, time_zone_offset, system_number, authorization_status, version_number, zone_number,
                locale_number, provider), provider, coalesce(locale_number, 0), coalesce(zone_number, 0),
            coalesce(time_zone_offset, 0), coalesce(version_number, 0), coalesce(system_number, 0),
            coalesce(spelling_number, 0), authorization_status, state, sum_counts(reachable), sum_counts(active),
            sum_counts(installations)
        FROM numbered
        GROUP BY app_id, GROUPING SETS (
            (), (provider), (locale_number), (authorization_status), (state), (version_number, system_number, spelling_number),
            (zone_number, time_zone_offset), (provider, locale_number), (provider, authorization_status),
            (locale_number, authorization_status), (provider, version_number, system_number, spelling_number),
            (locale_number, version_number, system_number, spelling_number),
            (version_number, system_number, spelling_number, authorization_status),
            (provider, zone_number, time_zone_offset), (locale_number, zone_number, time_zone_offset),
            (zone_number, time_zone_offset, authorization_status),
            (zone_number, time_zone_offset, version_number, system_number, spelling_number),
            (locale_number, version_number), (zone_number, version_number),
            (provider, locale_number, authorization_status),
            (provider, version_number, system_number, spelling_number, authorization_status),
            (provider, locale_number, zone_number, time_zone_offset),
            (provider, zone_number, time_zone_offset, authorization_status),
            (locale_number, zone_number, time_zone_offset, authorization_status),
            (provider, locale_number, version_number), (provider, zone_number, version_number),
            (locale_number, zone_number, version_number), (locale_number, version_number, authorization_status),
            (zone_number, version_number, authorization_status),
            (provider, locale_number, zone_number, time_zone_offset, version_number, system_number, spelling_number,
                authorization_status, state))
        HAVING sum_counts(reachable) <> 0 OR sum_counts(active) <> 0 OR sum_counts(installations) <> 0
        ON CONFLICT (app_id, locale_number, zone_number, time_zone_offset, version_number, system_number, spelling_number, provider,
        authorization_status, state, level)
        DO UPDATE SET reachable = r.reachable + excluded.reachable, active = r.active + excluded.active,
            installations = r.installations + excluded.installations,
            counted_before = (r.reachable > 0)::integer + 2 * (r.active > 0)::integer + 4 * (r.installations > 0)::integer
        RETURNING *, ctid AS place
    ), sized AS (
        INSERT INTO rollup_size AS r (app_id, level, reachable, active, installations)
        SELECT app_id, level, sum((reachable > 0)::integer - (counted_before & 1)),
            sum((active > 0)::integer - (counted_before >> 1 & 1)),
            sum((installations > 0)::integer - (counted_before >> 2 & 1))
        FROM added WHERE level IN (10, 11, 12, 13, 14, 26, 28) GROUP BY app_id, level
        HAVING bool_or((reachable > 0)::integer + 2 * (active > 0)::integer + 4 * (installations > 0)::integer
            <> counted_before)
        ON CONFLICT (app_id, level) DO UPDATE SET reachable = r.reachable + excluded.reachable,
            active = r.active + excluded.active, installations = r.installations + excluded.installations
    )
    SELECT array_agg(place) INTO emptied FROM added WHERE reachable = 0 AND active = 0 AND installations = 0;
    IF emptied IS NOT NULL OR fresh <> '{}' THEN PERFORM tidy_rollup(emptied, fresh); END IF;
    IF folded = batch THEN oldest_running := least(oldest_running, last_transaction); END IF;
    UPDATE rollup_state SET horizon = CASE WHEN folded > 0 THEN oldest_running ELSE horizon END, swept = swept_now;
    RETURN folded;
END
$$;

-- Brings the marginals in line with the cube, after removing cells that are no cells. Folding waits, for about a second.
-- Returns how many cells were wrong.
CREATE OR REPLACE FUNCTION align_rollup() RETURNS bigint LANGUAGE plpgsql
    SET enable_seqscan = on SET enable_hashjoin = on SET enable_mergejoin = on SET plan_cache_mode = auto
    SET work_mem = '64MB' AS $$
DECLARE
    removed bigint;
    aligned bigint;
    sized bigint;
BEGIN
    PERFORM lock_rollup(true);
    INSERT INTO rollup_state (horizon, swept) VALUES ('0', now()) ON CONFLICT (singleton) DO UPDATE SET horizon = '0';
    DELETE FROM rollup_cell_255 c
    WHERE reachable <> 0 AND reach_of(state, authorization_status, provider, NULL, NULL) <> 'reachable'
        OR active <> CASE state WHEN 'active' THEN installations ELSE 0 END
        OR 4 > (SELECT count(*) FROM unnest(ARRAY[locale_number, zone_number, system_number, spelling_number]) AS n (number)
            JOIN rollup_text USING (number))
        OR time_zone_offset <> 0 AND EXISTS (
            SELECT FROM known_time_zone k JOIN rollup_text t ON t.text = k.name WHERE t.number = c.zone_number);
    GET DIAGNOSTICS removed = ROW_COUNT;
    INSERT INTO rollup_cell AS r (app_id, level, provider, locale_number, zone_number, time_zone_offset, version_number, system_number, spelling_number,
        authorization_status, state, reachable, active, installations)
    SELECT app_id, level, provider, locale_number, zone_number, time_zone_offset, version_number, system_number, spelling_number,
        authorization_status, state, reachable, active, installations
    FROM rollup_marginal_drift
    ON CONFLICT (app_id, locale_number, zone_number, time_zone_offset, version_number, system_number, spelling_number, provider,
        authorization_status, state, level)
    DO UPDATE SET reachable = r.reachable + excluded.reachable, active = r.active + excluded.active,
        installations = r.installations + excluded.installations;
    GET DIAGNOSTICS aligned = ROW_COUNT;
    DELETE FROM rollup_cell WHERE reachable = 0 AND active = 0 AND installations = 0;
    SELECT count(*) INTO sized FROM rollup_size_drift;
    DELETE FROM rollup_size;
    INSERT INTO rollup_size SELECT * FROM rollup_ranked_level;
    RETURN removed + aligned + sized;
END
$$;

-- Appends the differences to a recount. Returns how many cells of the cube were wrong.
CREATE OR REPLACE FUNCTION append_rollup_corrections() RETURNS bigint LANGUAGE plpgsql
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
CREATE OR REPLACE FUNCTION prepare_rollup() RETURNS bigint LANGUAGE plpgsql
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
        DELETE FROM rollup_cell
        WHERE zone_number IN (SELECT number FROM rollup_text WHERE text = ANY (came)) AND time_zone_offset <> 0
        RETURNING *
    )
    INSERT INTO rollup_cell AS r (app_id, level, provider, locale_number, zone_number, time_zone_offset, version_number, system_number, spelling_number,
        authorization_status, state, reachable, active, installations)
    SELECT app_id, level, provider, locale_number, zone_number, 0, version_number, system_number, spelling_number,
        authorization_status, state, sum_counts(reachable), sum_counts(active), sum_counts(installations)
    FROM moved
    GROUP BY 1, 2, 3, 4, 5, 7, 8, 9, 10, 11
    ON CONFLICT (app_id, locale_number, zone_number, time_zone_offset, version_number, system_number, spelling_number, provider,
        authorization_status, state, level)
    DO UPDATE SET reachable = r.reachable + excluded.reachable, active = r.active + excluded.active,
        installations = r.installations + excluded.installations;
    -- What was sent for a zone that is known no more has to be read again.
    IF went IS NOT NULL THEN PERFORM append_rollup_corrections(); END IF;
    RETURN coalesce(cardinality(came), 0) + coalesce(cardinality(went), 0);
END
$$;

CREATE OR REPLACE FUNCTION reset_rollup() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM lock_rollup(true);
    DELETE FROM rollup_delta;
    DELETE FROM rollup_cell;
    DELETE FROM rollup_size;
    DELETE FROM rollup_text;
    RETURN NULL;
END
$$;

-- What has changed since the cells were folded: deltas that are pending, and sessions that expired between the moment until which
-- cells know it and `as_of`, whichever is the earlier: from reachable to active. As a function it is planned once for each session and
-- not with each question, of which that would be a third.
CREATE FUNCTION rollup_changes(app integer, as_of timestamptz)
RETURNS TABLE (provider provider, locale text, time_zone_id text, time_zone_offset integer, system_name text,
    system_version text, authorization_status authorization_status, reach reach, count bigint)
LANGUAGE plpgsql STABLE ROWS 100 AS $$
BEGIN
    RETURN QUERY
    SELECT p.provider, p.locale, p.time_zone_id, p.time_zone_offset, p.system_name, p.system_version,
        p.authorization_status, p.reach, p.count
    FROM rollup_pending p WHERE p.app_id = app
    UNION ALL
    SELECT i.provider, i.locale, i.time_zone_id, i.time_zone_offset, i.system_name, i.system_version,
        i.authorization_status, m.reach, CASE WHEN i.session_expires_at <= as_of THEN m.sign ELSE -m.sign END
    FROM rollup_installation i CROSS JOIN (VALUES ('reachable'::reach, -1::bigint), ('active', 1)) AS m (reach, sign)
    WHERE i.app_id = app AND i.state = 'active'
        AND reach_of(i.state, i.authorization_status, i.provider, NULL, NULL) = 'reachable'
        AND i.session_expires_at > least(as_of, (SELECT rollup_swept()))
        AND i.session_expires_at <= greatest(as_of, (SELECT rollup_swept()));
END
$$;

SELECT fold_rollup(2147483647);
