-- Numbered notifications, which wait for an installation until it acknowledges them.
--
-- Each row of these tables belongs to one epoch of an installation (`installation.epoch`): the transaction that ends
-- the epoch deletes it. A post and an acknowledgement lock the counter, after all other rows and in the order of its
-- key.

-- One row per installation that got a notification in its present epoch.
CREATE TABLE notification_counter (
    app_id integer NOT NULL,
    install_id text COLLATE "C" NOT NULL,
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
    install_id text COLLATE "C" NOT NULL,
    number bigint NOT NULL,
    payload text NOT NULL,
    collapse_id text COLLATE "C",
    posted_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    -- A post reads all notifications of an installation from the index, without payloads.
    PRIMARY KEY (app_id, install_id, number) INCLUDE (expires_at, collapse_id)
);

-- The numbers of posts with a `dedupId`, until their ttl has passed. A repeated post gets the same ones.
CREATE TABLE notification_dedup (
    app_id integer NOT NULL,
    install_id text COLLATE "C" NOT NULL,
    dedup_id text COLLATE "C" NOT NULL,
    number bigint NOT NULL,
    previous bigint NOT NULL,
    receipt text COLLATE "C",
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (app_id, install_id, dedup_id)
);
