-- Audiences: saved filters, and what marketing knows installations by.

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
