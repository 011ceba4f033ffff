-- Messages (campaigns and single pushes), the receipts of installations, and the sums of the receipts.
--
-- A message's number is the time of its creation in hundredths of a second since 1970, or the next free number of its
-- app. So the numbers are in the order of time, a restored dump gives none of them again, and the tables below are
-- partitioned by them: everything about a message is in one partition of each table, and is purged with it.

CREATE TABLE message (
    app_id integer NOT NULL, number bigint NOT NULL, name text COLLATE "C" NOT NULL, title text,
    -- An array of pairs: name and value.
    labels json NOT NULL,
    created_at timestamptz NOT NULL,
    -- From then on no receipt is handed out. Receipts with this expiry do not count any more.
    expires_at timestamptz NOT NULL,
    -- The latest expires_at that the message ever had: a receipt that was handed out earlier may be valid until then.
    receipts_until timestamptz NOT NULL,
    -- Whether the registry stores the installations for which the message is handed out.
    is_recorded boolean NOT NULL,
    -- The segments that audiences of the message named.
    segments text[] COLLATE "C" NOT NULL DEFAULT '{}',
    PRIMARY KEY (app_id, number),
    UNIQUE (app_id, name)
);

-- The events of a message at one installation. Because of the key, every event counts once,
-- even if several reports name it.
CREATE TABLE receipt (
    app_id integer NOT NULL, message bigint NOT NULL,
    -- 64 bits of a keyed hash of the installation's id.
    installation bigint NOT NULL,
    -- A sum of 1 targeted, 2 accepted, 4 failed, 8 delivered, 16 opened, 32 dismissed.
    events smallint NOT NULL,
    -- The events that the last write added. The write returns this column, so exactly one write counts each event.
    added smallint NOT NULL,
    -- NULL after an erasure.
    cell bigint,
    -- Of a recorded target: the installation, and its user when the message was handed out. NULL after an erasure.
    install_id text COLLATE "C", user_id text COLLATE "C", handed_out_at timestamptz,
    PRIMARY KEY (app_id, installation, message)
) PARTITION BY RANGE (message);
CREATE INDEX receipt_target ON receipt (app_id, message, installation) WHERE handed_out_at IS NOT NULL;
CREATE INDEX receipt_user ON receipt (app_id, user_id) WHERE user_id IS NOT NULL;

-- The changes of one transaction, summed by cell and minute. A background task folds them into the sums; a reader adds
-- both in one statement.
CREATE TABLE message_delta (
    app_id integer NOT NULL,
    -- The writing transaction.
    transaction_id bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint,
    message bigint NOT NULL, cell bigint NOT NULL,
    -- The minute of the events. NULL for events without a time.
    minute timestamptz,
    targeted integer NOT NULL, accepted integer NOT NULL, failed integer NOT NULL, delivered integer NOT NULL,
    opened integer NOT NULL, dismissed integer NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
-- Readers and folds begin at a transaction, as those of rollup_delta do: rollup_state.message_horizon.
CREATE INDEX message_delta_transaction ON message_delta (app_id, transaction_id);
CREATE INDEX message_delta_message ON message_delta (app_id, message, transaction_id);

CREATE TABLE message_sum (
    app_id integer NOT NULL,
    message bigint NOT NULL, cell bigint NOT NULL, targeted bigint NOT NULL, accepted bigint NOT NULL,
    failed bigint NOT NULL, delivered bigint NOT NULL, opened bigint NOT NULL, dismissed bigint NOT NULL,
    PRIMARY KEY (app_id, message, cell)
) PARTITION BY RANGE (message);

CREATE TABLE message_minute (
    app_id integer NOT NULL,
    message bigint NOT NULL, minute timestamptz NOT NULL, delivered bigint NOT NULL, opened bigint NOT NULL,
    dismissed bigint NOT NULL,
    PRIMARY KEY (app_id, message, minute)
) PARTITION BY RANGE (message);

CREATE TABLE receipt_default PARTITION OF receipt DEFAULT;
CREATE TABLE message_sum_default PARTITION OF message_sum DEFAULT;
CREATE TABLE message_minute_default PARTITION OF message_minute DEFAULT;

-- The first number of a message that is created at this time.
CREATE FUNCTION message_number(at timestamptz) RETURNS bigint LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
    'SELECT floor(extract(epoch FROM at) * 100)::bigint';
