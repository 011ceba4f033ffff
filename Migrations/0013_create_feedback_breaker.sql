-- The breaker for feedback: how many dead verdicts there were in the present hour, by app and provider. A call of
-- feedback writes the row last, after the installations that it changes.

CREATE TABLE feedback_breaker (
    app_id integer NOT NULL,
    provider provider NOT NULL,
    -- Empty: the tokens of the installations themselves.
    kind text COLLATE "C" NOT NULL,
    -- The hour begins with its first dead verdict.
    hour_began timestamptz NOT NULL, dead bigint NOT NULL,
    -- The active installations and those that were dead in the hour, when they were last counted.
    active bigint, counted_at timestamptz,
    -- The first and the last verdict that was held and neither released nor restored since.
    held_since timestamptz, last_held_at timestamptz,
    PRIMARY KEY (app_id, provider, kind),
    CONSTRAINT active_is_counted CHECK ((active IS NULL) = (counted_at IS NULL)),
    CONSTRAINT held_is_whole CHECK ((held_since IS NULL) = (last_held_at IS NULL))
) WITH (fillfactor = 50);
