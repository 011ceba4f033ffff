-- The roll-up: the number of installations by provider, locale, time zone, OS version and authorization, exact at every
-- moment. No row is hot: the transaction that changes installations appends deltas, and a background task folds them
-- into the counts. A reader adds counts and deltas in one statement. Every row belongs to one app.

-- The time zones that AT TIME ZONE accepts. pg_timezone_names reads hundreds of files: too slow for each question.
CREATE TABLE known_time_zone (
    name text COLLATE "C" PRIMARY KEY
);
INSERT INTO known_time_zone SELECT name FROM pg_timezone_names;

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
    app_id integer NOT NULL,
    number bigint GENERATED ALWAYS AS IDENTITY,
    text text COLLATE "C" NOT NULL,
    version_key bigint[],
    PRIMARY KEY (app_id, number),
    UNIQUE (app_id, text)
);

-- One combination of the values that the roll-up distinguishes. An installation names its cell. A cell is created
-- before the transaction that uses it, and is never deleted: a service may have it in its cache.
CREATE TABLE rollup_cell (
    app_id integer NOT NULL,
    number bigint GENERATED ALWAYS AS IDENTITY,
    provider provider NOT NULL,
    authorization_status authorization_status NOT NULL,
    -- Whether an import assumed that the user allows notifications.
    authorization_assumed boolean NOT NULL DEFAULT false,
    -- Numbers of rows in rollup_text.
    locale_number bigint NOT NULL,
    zone_number bigint NOT NULL,
    system_number bigint NOT NULL,
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
    PRIMARY KEY (app_id, number),
    UNIQUE (app_id, locale_number, zone_number, spelling_number, system_number, time_zone_offset, provider,
        authorization_status, authorization_assumed)
);

-- The changes of one transaction, summed by cell.
CREATE TABLE rollup_delta (
    app_id integer NOT NULL,
    -- 0: of all installations. Else of those with a choice about a topic: its number, negative if they left it.
    topic integer NOT NULL DEFAULT 0,
    -- The writing transaction.
    transaction_id bigint NOT NULL,
    cell bigint NOT NULL,
    -- When the sessions of these installations expire. NULL: they do not expire, or the installations are not active.
    expires_at timestamptz,
    active bigint NOT NULL,
    installations bigint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
-- A reader begins at the horizon. A long snapshot may keep folded rows from being vacuumed; they cost the reader
-- nothing.
CREATE INDEX rollup_delta_transaction ON rollup_delta (app_id, transaction_id);

-- Active installations of admitted cells whose session expires, by the time of expiry. They count as reachable in the
-- levels until they are swept. A reader subtracts the rows that have expired. A count may be negative.
CREATE TABLE rollup_expiry (
    app_id integer NOT NULL,
    -- As in rollup_delta.
    topic integer NOT NULL DEFAULT 0,
    expires_at timestamptz NOT NULL,
    cell bigint NOT NULL,
    active bigint NOT NULL,
    PRIMARY KEY (app_id, expires_at, topic, cell)
) WITH (fillfactor = 80);

-- The transaction that locks an app's row may move counts of the app between these tables.
CREATE TABLE rollup_state (
    app_id integer PRIMARY KEY,
    -- All deltas of earlier transactions are folded.
    horizon bigint NOT NULL DEFAULT 0
);

-- The levels: the folded counts, by some of the values of cells. Each question reads the smallest level that has its
-- fields. The service's type RollUpLevel lists the levels. A count may be negative for a moment, if a decrease is
-- folded before the increase that came first. A row whose counts are all zero is deleted.

-- By cell: the cube. All other levels are sums of it. Queries that no smaller level can serve read it.
CREATE TABLE rollup_cube (
    reachable bigint NOT NULL,
    active bigint NOT NULL,
    installations bigint NOT NULL,
    cell bigint NOT NULL,
    locale_number bigint NOT NULL,
    zone_number bigint NOT NULL,
    system_number bigint NOT NULL,
    version_number bigint NOT NULL,
    app_id integer NOT NULL,
    time_zone_offset integer NOT NULL,
    provider provider NOT NULL,
    authorization_status authorization_status NOT NULL,
    PRIMARY KEY (app_id, cell)
) WITH (fillfactor = 80);

-- Version, locale or zone, with provider, authorization and system: a few thousand rows, whatever the fleet. This level
-- has the spellings of versions.
CREATE TABLE rollup_version (
    reachable bigint NOT NULL,
    active bigint NOT NULL,
    installations bigint NOT NULL,
    system_number bigint NOT NULL,
    spelling_number bigint NOT NULL,
    version_number bigint NOT NULL,
    app_id integer NOT NULL,
    provider provider NOT NULL,
    authorization_status authorization_status NOT NULL,
    PRIMARY KEY (app_id, version_number, spelling_number, system_number, provider, authorization_status)
) WITH (fillfactor = 80);

CREATE TABLE rollup_locale (
    reachable bigint NOT NULL,
    active bigint NOT NULL,
    installations bigint NOT NULL,
    locale_number bigint NOT NULL,
    system_number bigint NOT NULL,
    app_id integer NOT NULL,
    provider provider NOT NULL,
    authorization_status authorization_status NOT NULL,
    PRIMARY KEY (app_id, locale_number, system_number, provider, authorization_status)
) WITH (fillfactor = 80);

CREATE TABLE rollup_zone (
    reachable bigint NOT NULL,
    active bigint NOT NULL,
    installations bigint NOT NULL,
    zone_number bigint NOT NULL,
    system_number bigint NOT NULL,
    app_id integer NOT NULL,
    time_zone_offset integer NOT NULL,
    provider provider NOT NULL,
    authorization_status authorization_status NOT NULL,
    PRIMARY KEY (app_id, zone_number, time_zone_offset, system_number, provider, authorization_status)
) WITH (fillfactor = 80);

-- Two of version, locale and zone: ten thousand rows and more. The index by count finds the largest rows without
-- reading the others, and rollup_size has their number. The offset distinguishes rows of a zone only if the zone is
-- unknown.
CREATE TABLE rollup_locale_zone (
    reachable bigint NOT NULL,
    active bigint NOT NULL,
    installations bigint NOT NULL,
    locale_number bigint NOT NULL,
    zone_number bigint NOT NULL,
    app_id integer NOT NULL,
    time_zone_offset integer NOT NULL,
    PRIMARY KEY (app_id, locale_number, zone_number, time_zone_offset)
) WITH (fillfactor = 80);
CREATE INDEX rollup_locale_zone_reachable ON rollup_locale_zone (app_id, reachable);
CREATE INDEX rollup_locale_zone_offset ON rollup_locale_zone (app_id) WHERE time_zone_offset <> 0;

CREATE TABLE rollup_locale_version (
    reachable bigint NOT NULL,
    active bigint NOT NULL,
    installations bigint NOT NULL,
    locale_number bigint NOT NULL,
    version_number bigint NOT NULL,
    app_id integer NOT NULL,
    PRIMARY KEY (app_id, locale_number, version_number)
) WITH (fillfactor = 80);
CREATE INDEX rollup_locale_version_reachable ON rollup_locale_version (app_id, reachable);

CREATE TABLE rollup_zone_version (
    reachable bigint NOT NULL,
    active bigint NOT NULL,
    installations bigint NOT NULL,
    zone_number bigint NOT NULL,
    version_number bigint NOT NULL,
    app_id integer NOT NULL,
    time_zone_offset integer NOT NULL,
    PRIMARY KEY (app_id, zone_number, version_number, time_zone_offset)
) WITH (fillfactor = 80);
CREATE INDEX rollup_zone_version_reachable ON rollup_zone_version (app_id, reachable);
CREATE INDEX rollup_zone_version_offset ON rollup_zone_version (app_id) WHERE time_zone_offset <> 0;

-- Three fields and more, for questions that would take too long to sum from the cube. Levels with a provider have the
-- system, too.
CREATE TABLE rollup_locale_zone_provider (
    reachable bigint NOT NULL,
    active bigint NOT NULL,
    installations bigint NOT NULL,
    locale_number bigint NOT NULL,
    zone_number bigint NOT NULL,
    system_number bigint NOT NULL,
    app_id integer NOT NULL,
    time_zone_offset integer NOT NULL,
    provider provider NOT NULL,
    authorization_status authorization_status NOT NULL,
    PRIMARY KEY (app_id, locale_number, zone_number, time_zone_offset, system_number, provider, authorization_status)
) WITH (fillfactor = 80);

CREATE TABLE rollup_locale_version_provider (
    reachable bigint NOT NULL,
    active bigint NOT NULL,
    installations bigint NOT NULL,
    locale_number bigint NOT NULL,
    version_number bigint NOT NULL,
    system_number bigint NOT NULL,
    app_id integer NOT NULL,
    provider provider NOT NULL,
    PRIMARY KEY (app_id, locale_number, version_number, system_number, provider)
) WITH (fillfactor = 80);

CREATE TABLE rollup_zone_version_provider (
    reachable bigint NOT NULL,
    active bigint NOT NULL,
    installations bigint NOT NULL,
    zone_number bigint NOT NULL,
    version_number bigint NOT NULL,
    system_number bigint NOT NULL,
    app_id integer NOT NULL,
    time_zone_offset integer NOT NULL,
    provider provider NOT NULL,
    PRIMARY KEY (app_id, zone_number, version_number, time_zone_offset, system_number, provider)
) WITH (fillfactor = 80);

CREATE TABLE rollup_locale_zone_version (
    reachable bigint NOT NULL,
    active bigint NOT NULL,
    installations bigint NOT NULL,
    locale_number bigint NOT NULL,
    zone_number bigint NOT NULL,
    version_number bigint NOT NULL,
    app_id integer NOT NULL,
    time_zone_offset integer NOT NULL,
    PRIMARY KEY (app_id, locale_number, zone_number, version_number, time_zone_offset)
) WITH (fillfactor = 80);

CREATE TABLE rollup_locale_version_authorization (
    reachable bigint NOT NULL,
    active bigint NOT NULL,
    installations bigint NOT NULL,
    locale_number bigint NOT NULL,
    version_number bigint NOT NULL,
    app_id integer NOT NULL,
    authorization_status authorization_status NOT NULL,
    PRIMARY KEY (app_id, locale_number, version_number, authorization_status)
) WITH (fillfactor = 80);

CREATE TABLE rollup_zone_version_authorization (
    reachable bigint NOT NULL,
    active bigint NOT NULL,
    installations bigint NOT NULL,
    zone_number bigint NOT NULL,
    version_number bigint NOT NULL,
    app_id integer NOT NULL,
    time_zone_offset integer NOT NULL,
    authorization_status authorization_status NOT NULL,
    PRIMARY KEY (app_id, zone_number, version_number, time_zone_offset, authorization_status)
) WITH (fillfactor = 80);

-- The number of rows of a level that count a reachable installation, for the levels with an index by count.
CREATE TABLE rollup_size (
    app_id integer NOT NULL,
    level text COLLATE "C" NOT NULL,
    reachable bigint NOT NULL,
    PRIMARY KEY (app_id, level)
);

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
