-- The roll-up: how many installations there are by provider, locale, time zone, OS version and authorization. Exact at
-- every moment, and no row of it is hot: the transaction that changes installations appends deltas, which a background
-- task folds into the counts. A reader adds both in one statement. Every row belongs to one app.

-- The time zones that AT TIME ZONE takes. pg_timezone_names reads hundreds of files, which is too slow for a question.
CREATE TABLE known_time_zone (
    name text COLLATE "C" PRIMARY KEY
);
INSERT INTO known_time_zone SELECT name FROM pg_timezone_names;

-- The dotted number that a version begins with, without trailing zeros, of at most 16 parts: 17.10 is above 17.9, and
-- 17 is 17.0. NULL without a digit at the beginning. A number beyond 64 bits counts as the largest one. The same rule
-- as the type Version of the service.
CREATE FUNCTION version_key(version text) RETURNS bigint[] LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
    -- Nearly all versions are short, with nothing behind the number.
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

-- A text that cells tell apart: a locale, a zone, the name of a system, a version.
CREATE TABLE rollup_text (
    app_id integer NOT NULL,
    number bigint GENERATED ALWAYS AS IDENTITY,
    text text COLLATE "C" NOT NULL,
    version_key bigint[],
    PRIMARY KEY (app_id, number),
    UNIQUE (app_id, text)
);

-- A combination of what the roll-up tells apart. An installation names its cell. Cells are created ahead of the
-- transaction that uses them, and stay: a service may have one in its cache.
CREATE TABLE rollup_cell (
    app_id integer NOT NULL,
    number bigint GENERATED ALWAYS AS IDENTITY,
    provider provider NOT NULL,
    authorization_status authorization_status NOT NULL,
    -- These are numbers of texts.
    locale_number bigint NOT NULL,
    zone_number bigint NOT NULL,
    system_number bigint NOT NULL,
    -- The version as it was spelled.
    spelling_number bigint NOT NULL,
    -- The version as Version writes it, which several spellings share: 17.0 is 17. 0: it is no version.
    version_number bigint NOT NULL,
    -- The offset that was sent, of a zone that is not known. Else 0.
    time_zone_offset integer NOT NULL,
    -- Whether the user lets pushes through, as far as one can tell: the part of "reachable" that the cell decides.
    is_admitted boolean NOT NULL GENERATED ALWAYS AS (
        authorization_status IN ('authorized', 'provisional', 'ephemeral')
        OR authorization_status = 'unknown' AND provider NOT IN ('apns', 'apnsSandbox')) STORED,
    PRIMARY KEY (app_id, number),
    UNIQUE (app_id, locale_number, zone_number, spelling_number, system_number, time_zone_offset, provider,
        authorization_status)
);

-- What a transaction changed, summed by cell.
CREATE TABLE rollup_delta (
    app_id integer NOT NULL,
    -- The writing transaction.
    transaction_id bigint NOT NULL,
    cell bigint NOT NULL,
    -- When the sessions of these installations expire. NULL: never, or they are not active.
    expires_at timestamptz,
    active bigint NOT NULL,
    installations bigint NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
-- A reader begins at the horizon. Folded rows, which a long snapshot may keep from being vacuumed, cost it nothing.
CREATE INDEX rollup_delta_transaction ON rollup_delta (app_id, transaction_id);

-- Active installations of admitted cells whose session expires, by the moment. They count as reachable in the levels
-- until they are swept; a reader subtracts those that have expired and are still here. A count may be negative.
CREATE TABLE rollup_expiry (
    app_id integer NOT NULL,
    expires_at timestamptz NOT NULL,
    cell bigint NOT NULL,
    active bigint NOT NULL,
    PRIMARY KEY (app_id, expires_at, cell)
) WITH (fillfactor = 80);

-- Who locks an app's row may move counts of the app between the tables here.
CREATE TABLE rollup_state (
    app_id integer PRIMARY KEY,
    -- All deltas of transactions before it are folded.
    horizon bigint NOT NULL DEFAULT 0
);

-- The levels: the folded counts, by some of what cells tell apart. Each question reads the smallest level that has its
-- fields. The service's type RollUpLevel lists them. A count may be negative for a moment, where a decrease is folded
-- before the increase that it follows. A row whose counts are zero is removed.

-- By the cell itself: the cube. All other levels are sums of it. It answers what no smaller level does.
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

-- One of version, locale and zone with all of provider, authorization and system: a few thousand rows, whatever the
-- fleet. Versions have their spellings here.
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

-- Two of them: ten thousand rows and more. The index by count finds the largest without a look at the rest, and
-- rollup_size knows how many there are. The offset tells rows of one zone apart only where the zone is not known.
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

-- Three and more, for what would take too long to sum from the cube. Those with a provider have the system, too.
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

-- How many rows of a level count somebody who is reachable, for the levels that have an index by count.
CREATE TABLE rollup_size (
    app_id integer NOT NULL,
    level text COLLATE "C" NOT NULL,
    reachable bigint NOT NULL,
    PRIMARY KEY (app_id, level)
);

-- A sum of counts without a numeric for each, which is most of what sum(bigint) takes.
CREATE AGGREGATE sum_counts(bigint) (
    SFUNC = int8pl, STYPE = bigint, INITCOND = '0', COMBINEFUNC = int8pl, PARALLEL = SAFE);

-- The instant at which clocks of a known zone show this. A time that occurs twice is the first one; a time that a clock
-- change leaves out is later by the gap. (PostgreSQL takes the second of two.)
CREATE FUNCTION first_instant(shown timestamp, zone text) RETURNS timestamptz LANGUAGE plpgsql STABLE STRICT
PARALLEL SAFE AS $$
DECLARE
    instant constant timestamptz := shown AT TIME ZONE zone;
    before constant timestamptz := instant - interval '2 days';
    -- By the offset of before a change, if there was one.
    earlier constant timestamptz :=
        (shown - ((before AT TIME ZONE zone) - (before AT TIME ZONE 'UTC'))) AT TIME ZONE 'UTC';
BEGIN
    RETURN CASE WHEN earlier < instant AND earlier AT TIME ZONE zone = shown THEN earlier ELSE instant END;
END
$$;
