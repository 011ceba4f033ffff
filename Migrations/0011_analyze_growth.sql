-- A session keeps a plan that it made while a table was empty, which reads all of it, until the table is analyzed. Autovacuum looks once a
-- minute, in which a registry grows from nothing to a hundred thousand. So the service looks every second.

-- Analyzes what was small when it was analyzed last, and has doubled since. What somebody else is about to analyze is left to them.
CREATE FUNCTION analyze_grown_tables() RETURNS void LANGUAGE plpgsql
    -- Only their owner may, which the service need not be.
    SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    grown regclass;
BEGIN
    FOR grown IN
        SELECT oid FROM pg_class
        WHERE oid = ANY ('{installation, session, user_guard, installation_logout}'::regclass[]) AND relpages < 1000
            AND pg_relation_size(oid) >= (2 * relpages + 8) * current_setting('block_size')::bigint LOOP
        EXECUTE format('ANALYZE (SKIP_LOCKED) %s', grown);
    END LOOP;
END
$$;
