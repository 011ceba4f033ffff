-- The change feed: events in the order of their transactions, which is the one order in which a reader can be sure to have seen
-- everything, whatever order they commit in.

-- Without the event's id: the events of one transaction share an index entry, so that a batch costs about six bytes an event
-- where (app_id, transaction_id, id) would cost thirty. The feed sorts the events of one transaction itself.
CREATE INDEX token_event_transaction ON token_event (app_id, transaction_id);

-- Of which database the transactions' numbers are. A dump that is restored brings the old numbers into a database that counts
-- otherwise: there, cursors of before mean nothing.
CREATE TABLE change_epoch (
    singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
    epoch text COLLATE "C" NOT NULL CHECK (epoch ~ '^[0-9a-f]{16}$'),
    identity text COLLATE "C" NOT NULL
);

-- The cluster, the database in it, and the table: a restore makes at least one of them anew. A base backup, a failover and an upgrade
-- keep their transactions' numbers; an upgrade makes a new cluster identifier, and so a new epoch without need.
CREATE FUNCTION database_identity() RETURNS text LANGUAGE sql STABLE AS $$
    SELECT concat_ws('.', system_identifier, (SELECT oid FROM pg_database WHERE datname = current_database()),
        'change_epoch'::regclass::oid)
    FROM pg_control_system()
$$;

-- Gives the events of a restored dump numbers below all that are to come, in the order in which they were written, and begins a
-- new epoch. Whether there was something to do.
CREATE FUNCTION adopt_restored_events() RETURNS boolean LANGUAGE plpgsql
    -- The service's sessions have these off.
    SET enable_seqscan = on SET enable_hashjoin = on AS $$
DECLARE
    -- The first numbers are reserved, and an empty database has used some hundreds: so many groups there are for the events.
    first_number constant bigint := 3;
    end_number bigint;
BEGIN
    PERFORM FROM change_epoch WHERE identity = database_identity();
    IF FOUND THEN RETURN false; END IF;
    LOCK TABLE change_epoch IN SHARE ROW EXCLUSIVE MODE;
    PERFORM FROM change_epoch WHERE identity = database_identity();
    IF FOUND THEN RETURN false; END IF;
    LOCK TABLE token_event IN SHARE ROW EXCLUSIVE MODE;
    end_number := pg_snapshot_xmin(pg_current_snapshot())::text::bigint;
    UPDATE token_event e
    SET transaction_id = placed.number::text::xid8
    FROM (SELECT id, first_number
            + (row_number() OVER (ORDER BY id) - 1) * (end_number - first_number) / count(*) OVER () AS number
        FROM token_event) AS placed
    WHERE e.id = placed.id;
    INSERT INTO change_epoch (epoch, identity)
    VALUES (left(md5(gen_random_uuid()::text), 16), database_identity())
    ON CONFLICT (singleton) DO UPDATE SET epoch = excluded.epoch, identity = excluded.identity;
    RETURN true;
END
$$;

INSERT INTO change_epoch (epoch, identity) VALUES (left(md5(gen_random_uuid()::text), 16), database_identity());
