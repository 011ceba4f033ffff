-- Audiences: saved filters, what marketing knows installations by, and how versions compare.

-- What the opaque ids of an app's installations are made with. Known to the database alone, and never changed: the ids are stable.
ALTER TABLE app ADD COLUMN identity_key bytea NOT NULL
    DEFAULT sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()));

CREATE TABLE segment (
    app_id integer NOT NULL REFERENCES app,
    name text COLLATE "C" NOT NULL,
    -- As it was sent.
    filter json NOT NULL,
    description text,
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (app_id, name)
);

-- Which segments a segment names. Written under a lock of the app's row, so that no two of them can close a circle.
CREATE TABLE segment_use (
    app_id integer NOT NULL,
    name text COLLATE "C" NOT NULL,
    used text COLLATE "C" NOT NULL,
    PRIMARY KEY (app_id, name, used),
    FOREIGN KEY (app_id, name) REFERENCES segment ON DELETE CASCADE,
    FOREIGN KEY (app_id, used) REFERENCES segment
);
CREATE INDEX segment_use_used ON segment_use (app_id, used);

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

-- When clocks of a zone that PostgreSQL knows show this: the first time where they do so twice, and later by the gap where they leave
-- it out. PostgreSQL's own answer to the former is the second time.
CREATE FUNCTION first_instant(shown timestamp, zone text) RETURNS timestamptz LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE AS $$
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
