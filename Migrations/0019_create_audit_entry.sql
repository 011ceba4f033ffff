-- Who changed what: apps and their policies, keys, segments and topics; erasures, repairs of feedback and undone
-- clean-ups.

-- On the coordinator, as the rows whose changes it records: one transaction writes both.
CREATE TABLE audit_entry (
    id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    -- NULL: the change is of no app that exists.
    app_id integer REFERENCES app,
    at timestamptz NOT NULL DEFAULT now(),
    -- As AuditEntry.Action has them.
    action text NOT NULL,
    -- What was changed: the id of an app or key, a name, a receipt.
    target text NOT NULL,
    -- The names of the changed members, without their values.
    members text[] NOT NULL,
    actor text NOT NULL,
    -- The name of a person whom the identity provider of the console has signed in.
    person text,
    roles text[] NOT NULL,
    -- NULL: a command.
    request_id text
);
CREATE INDEX audit_entry_page ON audit_entry (app_id, id);
