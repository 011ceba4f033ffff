-- A user who never was logged out can be forgotten too, by when the user was first seen: those who are known already, from now on.
ALTER TABLE user_guard ADD COLUMN added_at timestamptz NOT NULL DEFAULT now();
