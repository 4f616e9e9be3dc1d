-- Oldest safe version: 0.1.0
-- Absence is doubted (reliability.md 3.1): what is known of products that the list no longer shows.
CREATE TABLE absence (
  product_id INTEGER PRIMARY KEY REFERENCES product,
  missing_walks INTEGER NOT NULL,   -- complete walks in a row without it, those within half an hour counted once
  first_missing_at INTEGER NOT NULL,
  last_missing_at INTEGER NOT NULL,
  answer TEXT CHECK (answer IN ('gone', 'permanently-gone', 'there')),  -- of a direct read since
  answered_at INTEGER,
  release TEXT CHECK (release IN ('agreed', 'approved'))               -- a hold has let it go
) STRICT;

-- More missing at once than may be: nothing is withdrawn until three lists agree or a person decides.
CREATE TABLE hold (
  hold_id INTEGER PRIMARY KEY,
  opened_at INTEGER NOT NULL,
  lists INTEGER NOT NULL,           -- complete lists, at least half an hour apart, that agree
  last_list_at INTEGER NOT NULL,
  ended_at INTEGER,
  outcome TEXT CHECK (outcome IN ('agreed', 'approved', 'rejected', 'passed'))
) STRICT;

-- Conditions that a person should know of, for as long as they last.
CREATE TABLE alarm (
  kind TEXT PRIMARY KEY,            -- images-vanished
  raised_at INTEGER NOT NULL,
  seen_at INTEGER NOT NULL,
  products INTEGER NOT NULL
) STRICT;
