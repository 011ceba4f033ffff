-- Folding is planned anew each time: a plan that is kept for any batch takes it for ten deltas, and is four times as slow. And a delta is
-- read once, wherever in a long queue it is.

-- Deltas of one cell, summed.
CREATE TYPE rollup_change AS (
    app_id integer,
    provider provider,
    locale text,
    time_zone_id text,
    time_zone_offset integer,
    system_name text,
    system_version text,
    authorization_status authorization_status,
    state installation_state,
    reachable bigint,
    active bigint,
    installations bigint
);

-- Folds up to `batch` deltas, the oldest transactions' first, into all levels; and about as many of the sessions that have expired
-- since it last looked.
--
-- Returns how many deltas it folded: fewer than `batch` if none is left. NULL if somebody else is folding.
CREATE OR REPLACE FUNCTION fold_rollup(batch integer) RETURNS integer LANGUAGE plpgsql
    -- The sessions of requests have these otherwise.
    SET enable_seqscan = on SET enable_hashjoin = on SET enable_mergejoin = on SET plan_cache_mode = force_custom_plan
    SET work_mem = '64MB' AS $$
DECLARE
    swept_before timestamptz;
    swept_now timestamptz;
    folded integer;
    changes rollup_change[];
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
    WITH claimed AS (
        DELETE FROM rollup_delta
        WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM rollup_delta WHERE transaction_id >= rollup_horizon() ORDER BY transaction_id LIMIT batch))
        RETURNING *
    ), change AS (
        SELECT app_id, provider, locale, time_zone_id,
            CASE WHEN k.name IS NULL THEN time_zone_offset ELSE 0 END AS time_zone_offset, system_name, system_version,
            authorization_status, state,
            sum_counts(CASE reach_of(state, authorization_status, provider, session_expires_at, swept_before)
                WHEN 'reachable' THEN count ELSE 0 END) AS reachable,
            sum_counts(CASE state WHEN 'active' THEN count ELSE 0 END) AS active, sum_counts(count) AS installations
        FROM claimed d LEFT JOIN known_time_zone k ON k.name = d.time_zone_id
        GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9)
    SELECT (SELECT count(*) FROM claimed), (SELECT array_agg(change::rollup_change) FROM change),
        (SELECT max(transaction_id) FROM claimed), pg_snapshot_xmin(pg_current_snapshot())
    INTO folded, changes, last_transaction, oldest_running;
    -- Not for nothing: an idle service writes nothing.
    IF folded = 0 AND swept_now = swept_before THEN RETURN 0; END IF;
    -- That none has expired is said to the planner, too: it would read all that is pending to find none.
    -- Texts of expired sessions too: where a decrease was folded before the increase that it follows, no cell may have them.
    fresh := number_rollup_texts(ARRAY(
        SELECT locale FROM unnest(changes) UNION SELECT time_zone_id FROM unnest(changes)
        UNION SELECT system_name FROM unnest(changes) UNION SELECT system_version FROM unnest(changes)
        UNION
        SELECT n.text
        FROM (
            SELECT locale, time_zone_id, system_name, system_version FROM rollup_installation
            WHERE state = 'active' AND session_expires_at > swept_before AND session_expires_at <= swept_now
            UNION ALL
            SELECT locale, time_zone_id, system_name, system_version FROM rollup_pending
            WHERE session_expires_at > swept_before AND session_expires_at <= swept_now) AS c,
            unnest(ARRAY[locale, time_zone_id, system_name, system_version]) AS n (text)
        WHERE swept_now > swept_before));
    WITH expired AS (
        -- Of the installations that the cells have, with what is folded now: all of this snapshot, without what is pending in it.
        SELECT app_id, provider, locale, time_zone_id, time_zone_offset, system_name, system_version, authorization_status,
            state, 1 AS count
        FROM rollup_installation
        WHERE swept_now > swept_before AND state = 'active' AND session_expires_at > swept_before
            AND session_expires_at <= swept_now AND reach = 'reachable'
        UNION ALL
        SELECT app_id, provider, locale, time_zone_id, time_zone_offset, system_name, system_version, authorization_status,
            state, -count
        FROM rollup_pending
        WHERE swept_now > swept_before AND session_expires_at > swept_before AND session_expires_at <= swept_now
            AND reach = 'reachable'
    ), change AS (
        SELECT * FROM unnest(changes)
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
