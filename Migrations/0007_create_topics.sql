-- Topics of an app's pushes, and the choices of users and on installations to get them or not.

-- The catalogue of an app. Every service caches it with the directory.
CREATE TABLE topic (
    app_id integer NOT NULL REFERENCES app,
    -- Choices and counts name the topic by this number. A topic that is deleted and created again has another number,
    -- so it begins without choices.
    number integer GENERATED ALWAYS AS IDENTITY,
    slug text COLLATE "C" NOT NULL, name text NOT NULL, description text, category text,
    -- Whether an installation without a choice is subscribed.
    is_in boolean NOT NULL,
    -- Nobody can leave a locked topic: choices are stored and ignored.
    is_locked boolean NOT NULL,
    PRIMARY KEY (app_id, slug),
    UNIQUE (app_id, number),
    CONSTRAINT locked_is_in CHECK (is_in OR NOT is_locked)
);
CREATE TRIGGER topic_changed AFTER INSERT OR UPDATE OR DELETE ON topic
    FOR EACH STATEMENT EXECUTE FUNCTION bump_directory_version();

-- The numbers of deleted topics, until the night job has removed their choices and counts.
CREATE TABLE deleted_topic (
    app_id integer NOT NULL REFERENCES app, number integer NOT NULL,
    PRIMARY KEY (app_id, number)
);

-- The topics that a saved filter names. A topic that a filter names cannot be deleted.
CREATE TABLE segment_topic (
    app_id integer NOT NULL, name text COLLATE "C" NOT NULL, topic_number integer NOT NULL,
    PRIMARY KEY (app_id, name, topic_number),
    FOREIGN KEY (app_id, name) REFERENCES segment ON DELETE CASCADE,
    FOREIGN KEY (app_id, topic_number) REFERENCES topic (app_id, number)
);
CREATE INDEX segment_topic_number ON segment_topic (app_id, topic_number);

-- Choices are arrays of topic numbers in ascending order: a positive number for a topic that was chosen, a negative one
-- for a topic that was left. NULL: no choice.

-- The choices of a user, for all of the user's installations. The advisory lock of the user's bucket protects them:
-- registrations take it in share mode, a change of the choices exclusively.
ALTER TABLE user_guard ADD COLUMN topics integer[];

ALTER TABLE installation
    -- The choices on this installation.
    ADD COLUMN topic_choices integer[],
    -- Both levels: the choices on this installation, and those of its user about other topics. Audiences and counts
    -- read this column. A transaction that changes either level writes it.
    ADD COLUMN topics integer[];

-- The choices without these codes.
CREATE FUNCTION choices_without(choices integer[], codes integer[]) RETURNS integer[] LANGUAGE sql IMMUTABLE
PARALLEL SAFE AS
    'SELECT array_agg(u.code ORDER BY u.code) FROM unnest(choices) AS u (code) WHERE u.code <> ALL (codes)';

-- The choices in "own", and those in "inherited" about other topics.
CREATE FUNCTION merged_choices(own integer[], inherited integer[]) RETURNS integer[] LANGUAGE sql IMMUTABLE
PARALLEL SAFE AS $$
    SELECT array_agg(m.code ORDER BY m.code)
    FROM (
        SELECT unnest(own)
        UNION ALL
        SELECT u.code FROM unnest(inherited) AS u (code)
        WHERE abs(u.code) <> ALL (SELECT abs(o.code) FROM unnest(own) AS o (code))) AS m (code)
$$;

-- Whether the codes have at most one choice about each topic and are in ascending order.
CREATE FUNCTION are_choices(codes integer[]) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT codes IS NOT DISTINCT FROM array_agg(u.code ORDER BY u.code)
        AND cardinality(codes) = count(DISTINCT nullif(abs(u.code), 0))
    FROM unnest(codes) AS u (code)
$$;

-- An event of a user's choices concerns no single installation.
ALTER TABLE token_event
    ALTER COLUMN install_id DROP NOT NULL,
    ALTER COLUMN provider DROP NOT NULL,
    ALTER COLUMN state DROP NOT NULL,
    ALTER COLUMN generation_before DROP NOT NULL,
    ALTER COLUMN generation_after DROP NOT NULL,
    -- The slugs of the topics whose choice changed.
    ADD COLUMN topics text[];
-- An erasure finds the events of a user's choices here.
CREATE INDEX token_event_user ON token_event (app_id, user_id, id) WHERE install_id IS NULL;
