-- The roll-up: the number of installations by provider, locale, time zone, OS version and authorization, exact at every
-- moment. No row is hot: the transaction that changes installations appends deltas, and a background task folds them
-- into the counts. A reader adds counts and deltas of one snapshot. Every row belongs to one app.

-- IANA's time zones that AT TIME ZONE accepts. pg_timezone_names reads hundreds of files: too slow for each question.
CREATE TABLE known_time_zone (name text COLLATE "C" PRIMARY KEY);
INSERT INTO known_time_zone SELECT name FROM pg_timezone_names WHERE name NOT IN ('localtime', 'posixrules', 'Factory');

-- Names that came or went, until the installations with such a zone have their cells.
CREATE TABLE changed_time_zone (name text COLLATE "C" PRIMARY KEY);

-- The dotted number at the beginning of a version, without trailing zeros, with at most 16 parts: 17.10 is above 17.9,
-- and 17 is 17.0. NULL if the version does not begin with a digit. A number beyond 64 bits counts as the largest 64-bit
-- number. The service's type Version has the same rule.
CREATE FUNCTION version_key(version text) RETURNS bigint[] LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
    -- Nearly all versions are short and consist of the number only.
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

-- A text that distinguishes cells: a locale, a zone, the name of a system, a version.
CREATE TABLE rollup_text (
    app_id integer NOT NULL, number bigint GENERATED ALWAYS AS IDENTITY,
    text text COLLATE "C" NOT NULL, version_key bigint[],
    -- As in rollup_cell.
    unused_since timestamptz,
    PRIMARY KEY (app_id, number),
    UNIQUE (app_id, text)
);

-- One combination of the values that the roll-up distinguishes. An installation names its cell. A cell is created
-- before the transaction that uses it. The night job marks a cell that nothing uses, and deletes it in a later run.
CREATE TABLE rollup_cell (
    app_id integer NOT NULL, number bigint GENERATED ALWAYS AS IDENTITY,
    provider provider NOT NULL, authorization_status authorization_status NOT NULL,
    -- Whether an import assumed that the user allows notifications.
    authorization_assumed boolean NOT NULL DEFAULT false,
    -- Numbers of rows in rollup_text.
    locale_number bigint NOT NULL,
    zone_number bigint NOT NULL, system_number bigint NOT NULL,
    -- The version as the client spelled it.
    spelling_number bigint NOT NULL,
    -- The version in the canonical spelling, which several spellings share: 17.0 is 17. 0: the text is no version.
    version_number bigint NOT NULL,
    -- The offset that the client sent, if the zone is unknown. Else 0.
    time_zone_offset integer NOT NULL,
    -- Whether the user allows pushes, as far as is known: the part of "reachable" that depends on the cell alone.
    is_admitted boolean NOT NULL GENERATED ALWAYS AS (
        authorization_status IN ('authorized', 'provisional', 'ephemeral')
        OR authorization_assumed
        OR authorization_status = 'unknown' AND provider NOT IN ('apns', 'apnsSandbox')) STORED,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- When the night job found that nothing uses the cell. NULL: it is used, or was looked up since.
    unused_since timestamptz,
    PRIMARY KEY (app_id, number),
    UNIQUE (app_id, locale_number, zone_number, spelling_number, system_number, time_zone_offset, provider,
        authorization_status, authorization_assumed)
);

-- The time at which a run of the night job had marked what is unused, in microseconds since 1970. A change makes
-- services forget the numbers of cells and texts.
CREATE SEQUENCE rollup_marked_at MINVALUE 0 START 0;

-- The changes of one transaction, summed by cell. A fold adds them to the cube, and keeps them for some ten minutes:
-- the cubes in the memory of services follow them.
CREATE TABLE rollup_delta (
    app_id integer NOT NULL,
    -- 0: of all installations. Else of those with a choice about a topic: its number, negative if they left it.
    topic integer NOT NULL DEFAULT 0,
    -- The writing transaction.
    transaction_id bigint NOT NULL,
    cell bigint NOT NULL,
    -- When the sessions of these installations expire. NULL: they do not expire, or the installations are not active.
    expires_at timestamptz,
    active bigint NOT NULL, installations bigint NOT NULL,
    -- Active installations whose session has expired: a sweep moved them here from rollup_expiry.
    expired bigint NOT NULL DEFAULT 0
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
-- Readers begin at a transaction. A long snapshot may keep older rows from being vacuumed; they cost the reader
-- nothing.
CREATE INDEX rollup_delta_transaction ON rollup_delta (app_id, transaction_id);

-- Active installations of admitted cells whose session expires, by the time of expiry. They count as reachable in the
-- cube until they are swept. A reader subtracts the rows that have expired. A count may be negative.
CREATE TABLE rollup_expiry (
    app_id integer NOT NULL,
    -- As in rollup_delta.
    topic integer NOT NULL DEFAULT 0,
    expires_at timestamptz NOT NULL, cell bigint NOT NULL, active bigint NOT NULL,
    PRIMARY KEY (app_id, expires_at, topic, cell)
) WITH (fillfactor = 80);

-- The transaction that locks an app's row may fold.
CREATE TABLE rollup_state (
    app_id integer PRIMARY KEY,
    -- All deltas of earlier transactions are folded, and no others.
    horizon bigint NOT NULL DEFAULT 0,
    -- The time up to which expired sessions are swept. Counts are as of this time or later, though the clock was set
    -- back. NULL: none was swept.
    swept_until timestamptz,
    -- How many deltas were folded.
    folded bigint NOT NULL DEFAULT 0,
    -- Grows with each rebuild. Cubes in memory are of one version.
    version bigint NOT NULL DEFAULT 0,
    -- Horizons of the last ten minutes, the oldest first. Deltas of transactions before the first one are deleted.
    marks bigint[] NOT NULL DEFAULT '{0}', marked_at timestamptz NOT NULL DEFAULT now(),
    -- All rows of message_delta of earlier transactions are folded, and perhaps some others.
    message_horizon bigint NOT NULL DEFAULT 0
);

-- The cube: the folded counts by cell. A count may be negative for a moment, if a decrease is folded before the
-- increase that came first. A row whose counts are all zero is deleted.
CREATE TABLE rollup_cube (
    reachable bigint NOT NULL, active bigint NOT NULL, installations bigint NOT NULL, cell bigint NOT NULL,
    app_id integer NOT NULL,
    -- As in rollup_delta.
    topic integer NOT NULL DEFAULT 0,
    PRIMARY KEY (app_id, topic, cell)
) WITH (fillfactor = 80);

-- A sum of counts without numeric arithmetic, which takes most of the time of sum(bigint).
CREATE AGGREGATE sum_counts(bigint) (
    SFUNC = int8pl, STYPE = bigint, INITCOND = '0', COMBINEFUNC = int8pl, PARALLEL = SAFE);

-- The instant at which the clocks of a known zone show a time. A time that occurs twice is the first one; a time that a
-- clock change leaves out moves forward by the gap. (AT TIME ZONE returns the second of the two.)
CREATE FUNCTION first_instant(shown timestamp, zone text) RETURNS timestamptz LANGUAGE plpgsql STABLE STRICT
PARALLEL SAFE AS $$
DECLARE
    instant constant timestamptz := shown AT TIME ZONE zone;
    before constant timestamptz := instant - interval '2 days';
    -- By the offset before the clock change, if there was one.
    earlier constant timestamptz :=
        (shown - ((before AT TIME ZONE zone) - (before AT TIME ZONE 'UTC'))) AT TIME ZONE 'UTC';
BEGIN
    RETURN CASE WHEN earlier < instant AND earlier AT TIME ZONE zone = shown THEN earlier ELSE instant END;
END
$$;
