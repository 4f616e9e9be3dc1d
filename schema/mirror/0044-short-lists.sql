-- Oldest safe version: 0.1.0
-- What a walk has met so far beside its rows: a kill in the middle of it forgets neither what the service counts nor which rows
-- could not be used.
ALTER TABLE _walk ADD COLUMN counted INTEGER;            -- the most that a page of this attempt counted; NULL: none counted
ALTER TABLE _walk ADD COLUMN unusable INTEGER NOT NULL DEFAULT 0;  -- rows of this attempt that could not be used
ALTER TABLE _walk ADD COLUMN unusable_example TEXT;      -- why, of the first of them
-- Lists whose last walk met fewer rows than the service counts, or rows that could not be used.
CREATE TABLE _short_list (
  resource TEXT NOT NULL,
  edition TEXT NOT NULL,
  since_at INTEGER NOT NULL,        -- when the first of its short walks in a row ended
  walked_at INTEGER NOT NULL,       -- when the last one ended
  counted INTEGER NOT NULL,
  met INTEGER NOT NULL,
  unusable INTEGER NOT NULL,
  unusable_example TEXT,
  row_hash TEXT NOT NULL,           -- of the ids that were met
  lists INTEGER NOT NULL,           -- that agree, at least half an hour apart
  agreed_at INTEGER NOT NULL,       -- when the last one began that counts
  PRIMARY KEY (resource, edition)
) STRICT, WITHOUT ROWID;
