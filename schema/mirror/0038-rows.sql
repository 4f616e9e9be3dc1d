-- Oldest safe version: 0.1.0
-- The keys of rows that have changed, while rows.publish is set: numbered by their last change, so that whoever knows all up
-- to a number asks for those above it. Triggers write them, in the transaction that changes the row.
CREATE TABLE _row (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  source TEXT NOT NULL,               -- the table
  key TEXT NOT NULL,                  -- JSON array of its primary key
  UNIQUE (source, key)
) STRICT;

-- What the numbers belong to; no row: nothing is published.
CREATE TABLE _row_feed (
  row_feed_id INTEGER PRIMARY KEY CHECK (row_feed_id = 1),
  origin TEXT NOT NULL,               -- another one: the numbers begin anew, and a follower with them
  floor INTEGER NOT NULL              -- numbers up to it are forgotten
) STRICT;

-- Which number was the last at an instant: how old the numbers are, to forget them.
CREATE TABLE _row_mark (
  at INTEGER PRIMARY KEY,
  number INTEGER NOT NULL
) STRICT;

-- Of a followed copy only: what it follows, and how far it is.
CREATE TABLE _followed (
  followed_id INTEGER PRIMARY KEY CHECK (followed_id = 1),
  origin TEXT NOT NULL,
  number INTEGER NOT NULL,
  published_at INTEGER NOT NULL       -- by the daemon's clock: all is as it was then
) STRICT;
