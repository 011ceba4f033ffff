-- The apps that changed with each version of the directory: a cache reads these again, and no others.

CREATE TABLE directory_change (
    version bigint PRIMARY KEY,
    app_id integer NOT NULL,
    -- Whether a key of the app changed. Else the app, its signing keys or its topics did.
    is_of_key boolean NOT NULL
);

-- Each changed row draws a version of its own. A cache that misses one in its sequence reads all apps: the cache is
-- older than the versions that are kept, or an app was deleted, or the database was restored.
CREATE FUNCTION record_directory_change() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    kept_versions constant bigint := 1000;
    present bigint;
    app_id integer;
BEGIN
    UPDATE directory_version SET version = version + 1 RETURNING version INTO present;
    IF TG_TABLE_NAME <> 'app' THEN
        app_id := coalesce(NEW.app_id, OLD.app_id);
    ELSIF TG_OP <> 'DELETE' THEN
        app_id := NEW.id;
    ELSE
        DELETE FROM directory_change AS c WHERE c.app_id = OLD.id;
        RETURN NULL;
    END IF;
    INSERT INTO directory_change VALUES (present, app_id, TG_TABLE_NAME = 'api_key');
    DELETE FROM directory_change WHERE version <= present - kept_versions;
    RETURN NULL;
END
$$;

DO $$
DECLARE changing text;
BEGIN
    FOREACH changing IN ARRAY '{app,api_key,app_signing_key,topic}'::text[] LOOP
        EXECUTE format('DROP TRIGGER %I ON %I', changing || '_changed', changing);
        EXECUTE format('CREATE TRIGGER %I AFTER INSERT OR UPDATE OR DELETE ON %I
            FOR EACH ROW EXECUTE FUNCTION record_directory_change()', changing || '_changed', changing);
    END LOOP;
END
$$;
DROP FUNCTION bump_directory_version();
