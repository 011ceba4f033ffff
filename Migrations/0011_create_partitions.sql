-- The partitions by time: of history by the month, of receipts by the week, and of their sums by the month. They are
-- created ahead of time. A row without a partition goes to the default partition, and stays there until it is old.

CREATE VIEW partitioned_table AS
SELECT parent, key, unit, has_numbers
FROM (
    VALUES ('token_event', 'at', 'month', false), ('settings_snapshot', 'replaced_at', 'month', false),
        ('receipt', 'message', 'week', true), ('message_sum', 'message', 'month', true),
        -- has_numbers: the key is a message's number.
        ('message_minute', 'message', 'month', true)) AS t (parent, key, unit, has_numbers);

-- All but the default partitions.
CREATE VIEW time_partition AS
SELECT t.parent, c.relname::text AS name,
    CASE WHEN t.has_numbers THEN to_timestamp(b.bounds[1]::numeric / 100) ELSE b.bounds[1]::timestamptz END
        AS begins_at,
    CASE WHEN t.has_numbers THEN to_timestamp(b.bounds[2]::numeric / 100) ELSE b.bounds[2]::timestamptz END AS ends_at
FROM partitioned_table t
    JOIN pg_inherits h ON h.inhparent = t.parent::regclass
    JOIN pg_class c ON c.oid = h.inhrelid
    CROSS JOIN LATERAL regexp_match(
        pg_get_expr(c.relpartbound, c.oid), 'FROM \(''?([^'')]+)''?\) TO \(''?([^'')]+)''?\)') AS b (bounds)
WHERE b.bounds IS NOT NULL;

-- The bounds of partitions that are missing from the present week or month on, for the time ahead.
CREATE FUNCTION missing_partitions(ahead interval)
    RETURNS TABLE (parent text, begins_at timestamptz, ends_at timestamptz) LANGUAGE sql STABLE AS $$
    SELECT t.parent, p AT TIME ZONE 'UTC', (p + ('1 ' || t.unit)::interval) AT TIME ZONE 'UTC'
    FROM partitioned_table t
        CROSS JOIN generate_series(date_trunc(t.unit, now() AT TIME ZONE 'UTC'), now() AT TIME ZONE 'UTC' + ahead,
            ('1 ' || t.unit)::interval) AS p
    WHERE NOT EXISTS (
        SELECT FROM time_partition e
        WHERE e.parent = t.parent AND e.begins_at <= p AT TIME ZONE 'UTC' AND e.ends_at > p AT TIME ZONE 'UTC')
    ORDER BY 1, 2
$$;

-- A bound as PostgreSQL writes it.
CREATE FUNCTION partition_bound(at timestamptz, has_numbers boolean) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN has_numbers THEN message_number(at)::text
        ELSE quote_literal(to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS+00')) END
$$;

-- Creates the partition of a week or month. Returns false if the default partition has rows of this time. Attaching
-- scans the default partition, unless a constraint (`hold_partition`) makes the scan unnecessary.
CREATE FUNCTION make_partition(of_parent text, begins_at timestamptz, ends_at timestamptz) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    t constant partitioned_table := (SELECT p FROM partitioned_table p WHERE p.parent = of_parent);
    name constant text := of_parent || to_char(begins_at AT TIME ZONE 'UTC',
        CASE t.unit WHEN 'month' THEN '_YYYY_MM' ELSE '_YYYY_MM_DD' END);
BEGIN
    EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING CONSTRAINTS)', name, of_parent);
    IF t.has_numbers THEN
        -- Most rows are updated, many of them twice: a receipt gets its events one after the other.
        EXECUTE format('ALTER TABLE %I SET (fillfactor = 85)', name);
    ELSE
        -- As in `installation`.
        EXECUTE format('ALTER TABLE %I ALTER COLUMN app_id SET (n_distinct = 1)', name);
    END IF;
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%s)', of_parent, name,
        partition_bound(begins_at, t.has_numbers), partition_bound(ends_at, t.has_numbers));
    RETURN true;
EXCEPTION WHEN check_violation THEN
    RETURN false;
END
$$;

-- Keeps rows of a future week or month out of the default partition until its partition is made. The constraint is
-- validated by another statement, while other sessions read and write.
CREATE FUNCTION hold_partition(of_parent text, begins_at timestamptz, ends_at timestamptz) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    t constant partitioned_table := (SELECT p FROM partitioned_table p WHERE p.parent = of_parent);
BEGIN
    EXECUTE format('ALTER TABLE %I ADD CONSTRAINT partition_bounds CHECK (%I < %s OR %I >= %s) NOT VALID',
        of_parent || '_default', t.key, partition_bound(begins_at, t.has_numbers),
        t.key, partition_bound(ends_at, t.has_numbers));
END
$$;

SELECT make_partition(parent, begins_at, ends_at) FROM missing_partitions('3 months');
