-- Tokens whose address is not their whole text (R1).

-- Set at the end of a run that has looked for tokens which a version without addresses identified by their whole text:
-- how many it has found. Once it is 0, no run looks again.
ALTER TABLE cleanup_run ADD COLUMN readdressed bigint;
