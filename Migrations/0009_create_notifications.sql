-- Numbered notifications, which wait for an installation until it acknowledges them.
--
-- Each row of these tables belongs to one epoch of an installation (`installation.epoch`): the transaction that ends
-- the epoch deletes it. A post and an acknowledgement lock the counter, after all other rows and in the order of its
-- key.

-- One row per installation that got a notification in its present epoch.
CREATE TABLE notification_counter (
    app_id integer NOT NULL, install_id text COLLATE "C" NOT NULL,
    -- Equal to `installation.epoch`. The epoch cannot end while a transaction holds the lock of this row.
    epoch bigint NOT NULL,
    -- The highest number that the epoch has used.
    last bigint NOT NULL,
    -- The highest number that the installation has acknowledged.
    acknowledged bigint NOT NULL,
    -- The highest number that was dropped because too many waited.
    dropped bigint NOT NULL,
    PRIMARY KEY (app_id, install_id),
    CONSTRAINT counted_in_order CHECK (0 <= acknowledged AND acknowledged <= last AND 0 <= dropped AND dropped <= last)
) WITH (fillfactor = 50);

-- A notification that waits. The payload is JSON as the sender sent it, byte for byte.
CREATE TABLE notification (
    app_id integer NOT NULL,
    install_id text COLLATE "C" NOT NULL, number bigint NOT NULL, payload text NOT NULL, collapse_id text COLLATE "C",
    posted_at timestamptz NOT NULL, expires_at timestamptz NOT NULL,
    -- A post reads all notifications of an installation from the index, without payloads.
    PRIMARY KEY (app_id, install_id, number) INCLUDE (expires_at, collapse_id)
);

-- The numbers of posts with a `dedupId`, until their ttl has passed. A repeated post gets the same ones.
CREATE TABLE notification_dedup (
    app_id integer NOT NULL,
    install_id text COLLATE "C" NOT NULL, dedup_id text COLLATE "C" NOT NULL, number bigint NOT NULL,
    previous bigint NOT NULL, receipt text COLLATE "C", expires_at timestamptz NOT NULL,
    PRIMARY KEY (app_id, install_id, dedup_id)
);

-- As in `installation`.
ALTER TABLE notification_counter ALTER COLUMN app_id SET (n_distinct = 1);
ALTER TABLE notification ALTER COLUMN app_id SET (n_distinct = 1);
ALTER TABLE notification_dedup ALTER COLUMN app_id SET (n_distinct = 1);

-- A restored dump begins another epoch of each installation, and in each epoch the numbers begin at 1. What waits
-- stays, in its order. A dedup id belongs to its epoch.
CREATE FUNCTION renumber_notifications() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    LOCK TABLE notification_counter, notification IN SHARE ROW EXCLUSIVE MODE;
    DELETE FROM notification_dedup;
    DELETE FROM notification WHERE expires_at <= clock_timestamp();
    -- By way of negative numbers: each step leaves every number free for the next one.
    UPDATE notification SET number = -number;
    UPDATE notification n SET number = placed.number
    FROM (
        SELECT app_id, install_id, number AS old,
            row_number() OVER (PARTITION BY app_id, install_id ORDER BY number DESC) AS number
        FROM notification) AS placed
    WHERE n.app_id = placed.app_id AND n.install_id = placed.install_id AND n.number = placed.old;
    UPDATE notification_counter c SET acknowledged = 0, dropped = 0, last = (
        SELECT count(*) FROM notification n WHERE n.app_id = c.app_id AND n.install_id = c.install_id);
END
$$;
