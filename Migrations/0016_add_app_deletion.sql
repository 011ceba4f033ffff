-- Apps that are being deleted.

-- When the deletion began. Calls find no such app; services delete its rows, and this one last.
ALTER TABLE app ADD COLUMN deleting_since timestamptz;
CREATE INDEX app_deleting ON app (id) WHERE deleting_since IS NOT NULL;
