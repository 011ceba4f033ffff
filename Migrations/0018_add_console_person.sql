-- Sessions of people whom an identity provider has signed in.

ALTER TABLE console_session ADD COLUMN issuer text COLLATE "C";
ALTER TABLE console_session ADD COLUMN subject text COLLATE "C";
ALTER TABLE console_session ADD COLUMN name text;
ALTER TABLE console_session ADD COLUMN groups text[];
-- A digest of the sign-in that the session comes from: it makes one session.
ALTER TABLE console_session ADD COLUMN sign_in bytea;
CREATE UNIQUE INDEX console_session_sign_in ON console_session (sign_in);
ALTER TABLE console_session DROP CONSTRAINT one_credential;
ALTER TABLE console_session ADD CONSTRAINT one_credential CHECK (
    num_nonnulls(key_id, admin_proof, subject) = 1
    AND num_nonnulls(issuer, subject, name, groups, sign_in) IN (0, 5));
