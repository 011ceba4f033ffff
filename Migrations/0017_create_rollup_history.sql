-- The counts of past days (R13). The night job records them from the cube.

-- A day of the last month whose record names the cell. NULL: none does. The cell stays as long as the records of the
-- days until a month later.
ALTER TABLE rollup_cell ADD COLUMN recorded_on date;

CREATE TABLE rollup_history (
    app_id integer NOT NULL,
    -- In UTC.
    day date NOT NULL,
    -- As in rollup_delta.
    topic integer NOT NULL,
    -- What was counted: the snapshot that was nearest to the end of the day.
    as_of timestamptz NOT NULL,
    -- The cells and their counts, as RecordedCounts writes them.
    counts bytea NOT NULL,
    PRIMARY KEY (app_id, day, topic)
);
-- They are small already.
ALTER TABLE rollup_history ALTER COLUMN counts SET STORAGE EXTERNAL;
