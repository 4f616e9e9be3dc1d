-- Oldest safe version: 0.1.0
-- What else is doubted: a person's no is remembered, and experiences are missed list by list.
ALTER TABLE absence ADD COLUMN rejected INTEGER NOT NULL DEFAULT 0 CHECK (rejected IN (0, 1));  -- counted since a person did not believe it

CREATE TABLE experience_absence (
  experience_id INTEGER PRIMARY KEY REFERENCES experience,
  missing_walks INTEGER NOT NULL,   -- complete walks in a row without it, those within half an hour counted once
  last_missing_at INTEGER NOT NULL
) STRICT;
