-- History: what happened to tokens, and the snapshots that were replaced. Append-only, partitioned by month.

-- R12: the events. An event contains a token's SHA-256, never the token.
CREATE TABLE token_event (
    id bigint GENERATED ALWAYS AS IDENTITY,
    -- The position in the change feed: the greater one of the own transaction's id and the id of the newest transaction
    -- that had ended. The event is written under the installation's lock, so the events of one installation have
    -- ascending pairs (position, id). No event can appear below the oldest running transaction.
    position bigint NOT NULL,
    at timestamptz NOT NULL,
    app_id integer NOT NULL,
    install_id text COLLATE "C" NOT NULL,
    event event_kind NOT NULL,
    reason text NOT NULL,
    actor text NOT NULL,
    provider provider NOT NULL,
    token_sha256 bytea,
    user_id text COLLATE "C",
    previous_user_id text COLLATE "C",
    state installation_state NOT NULL,
    generation_before bigint NOT NULL,
    generation_after bigint NOT NULL
) PARTITION BY RANGE (at);
CREATE INDEX token_event_installation ON token_event (app_id, install_id, id);
CREATE INDEX token_event_token ON token_event (app_id, token_sha256, id);
-- The index has no id, so the events of one batch share an index entry: about six bytes per event instead of thirty.
CREATE INDEX token_event_position ON token_event (app_id, position);
CREATE TABLE token_event_default PARTITION OF token_event DEFAULT;

-- A snapshot that another one has replaced. The present snapshot is in `installation`.
CREATE TABLE settings_snapshot (
    -- The revision of the installation's row when it was replaced: the ids of an installation ascend.
    id bigint NOT NULL,
    -- When it was replaced. Partitions are by this time.
    replaced_at timestamptz NOT NULL,
    -- When it arrived.
    at timestamptz NOT NULL,
    app_id integer NOT NULL,
    install_id text COLLATE "C" NOT NULL,
    -- The user who sent it first, as in `installation`.
    sender bigint,
    settings bigint NOT NULL,
    keychain_id text COLLATE "C",
    vendor_id text COLLATE "C",
    advertising_id text COLLATE "C",
    app_version text COLLATE "C",
    device_model text COLLATE "C" NOT NULL,
    system_name text COLLATE "C" NOT NULL,
    system_version text COLLATE "C" NOT NULL,
    locale text COLLATE "C" NOT NULL,
    language text COLLATE "C",
    languages text[] COLLATE "C" NOT NULL,
    region text COLLATE "C",
    time_zone_id text COLLATE "C" NOT NULL,
    time_zone_offset integer NOT NULL,
    carrier text COLLATE "C",
    app_store text COLLATE "C",
    latitude double precision,
    longitude double precision
) PARTITION BY RANGE (replaced_at);
CREATE INDEX settings_snapshot_installation ON settings_snapshot (app_id, install_id, id);
CREATE TABLE settings_snapshot_default PARTITION OF settings_snapshot DEFAULT;

-- The database that the positions belong to. A restored dump brings old positions into a database with other
-- transaction ids. Cursors from before the restore are invalid there.
CREATE TABLE change_epoch (
    singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
    epoch text COLLATE "C" NOT NULL CHECK (epoch ~ '^[0-9a-f]{16}$'),
    identity text COLLATE "C" NOT NULL
);

-- The newest event of an app that was dropped with a month of history. A reader with an older cursor has missed events.
CREATE TABLE dropped_history (
    app_id integer PRIMARY KEY,
    position bigint NOT NULL,
    id bigint NOT NULL
);

-- The identity of the database: the cluster, the database in it, and a table. A restored dump changes at least one of
-- them. A base backup, a failover and an upgrade keep the transaction ids. An upgrade changes the cluster's identifier,
-- and so begins a new epoch although it is not necessary. It keeps the positions.
CREATE VIEW database_identity AS
SELECT concat_ws('.', system_identifier, (SELECT oid FROM pg_database WHERE datname = current_database()),
        'change_epoch'::regclass::oid) AS identity
FROM pg_control_system();

-- Gives the events of a restored dump positions below all future ones, in the order in which they were written, unless
-- they have such positions, and begins a new epoch. Deltas of the roll-up that are not folded count as of a transaction
-- before all others; the folded ones are deleted. Returns false if the database was not restored from a dump.
CREATE FUNCTION adopt_restored_events() RETURNS boolean LANGUAGE plpgsql
    -- The service's sessions switch these off.
    SET enable_seqscan = on SET enable_hashjoin = on AS $$
DECLARE
    -- The first transaction ids are reserved. An empty database has used some hundreds, which are free as positions.
    first_position constant bigint := 3;
    end_position bigint;
BEGIN
    PERFORM FROM change_epoch JOIN database_identity USING (identity);
    IF FOUND THEN RETURN false; END IF;
    LOCK TABLE change_epoch IN SHARE ROW EXCLUSIVE MODE;
    PERFORM FROM change_epoch JOIN database_identity USING (identity);
    IF FOUND THEN RETURN false; END IF;
    LOCK TABLE token_event IN SHARE ROW EXCLUSIVE MODE;
    end_position := pg_snapshot_xmin(pg_current_snapshot())::text::bigint;
    PERFORM FROM app a CROSS JOIN LATERAL (
        SELECT FROM token_event e WHERE e.app_id = a.id AND e.position >= end_position LIMIT 1) AS above LIMIT 1;
    IF FOUND THEN
        UPDATE token_event e
        SET position = placed.position
        FROM (SELECT id, first_position
                + (row_number() OVER (ORDER BY id) - 1) * (end_position - first_position) / count(*) OVER () AS position
            FROM token_event) AS placed
        WHERE e.id = placed.id;
    END IF;
    INSERT INTO change_epoch (epoch, identity)
    SELECT left(md5(gen_random_uuid()::text), 16), identity FROM database_identity
    ON CONFLICT (singleton) DO UPDATE SET epoch = excluded.epoch, identity = excluded.identity;
    DELETE FROM dropped_history;
    DELETE FROM rollup_delta d USING rollup_state s WHERE s.app_id = d.app_id AND d.transaction_id < s.horizon;
    UPDATE rollup_delta SET transaction_id = 0;
    UPDATE rollup_state SET horizon = 0, marks = '{0}', message_horizon = 0;
    PERFORM renumber_notifications();
    -- Services cache the epoch beside the apps.
    UPDATE directory_version SET version = version + 1;
    RETURN true;
END
$$;

INSERT INTO change_epoch (epoch, identity)
SELECT left(md5(gen_random_uuid()::text), 16), identity FROM database_identity;
