-- Oldest safe version: 0.1.0
-- When a condition of the table (src/domain/conditions/) was shown, a row for each time. It stands here, because it has to
-- outlive a mirror that is repaired or filled anew.
CREATE TABLE condition_period (
  period_id INTEGER PRIMARY KEY,
  code TEXT NOT NULL,
  began_at INTEGER NOT NULL,         -- since when it held
  ended_at INTEGER,                  -- NULL: it still holds
  says TEXT NOT NULL,                -- what was wrong when it was shown first
  acknowledged_at INTEGER,
  acknowledged TEXT,                 -- why a person has acknowledged it, until it ends
  CHECK ((acknowledged IS NULL) = (acknowledged_at IS NULL))
) STRICT;
CREATE UNIQUE INDEX condition_period_open ON condition_period (code) WHERE ended_at IS NULL;
CREATE INDEX condition_period_ended ON condition_period (ended_at) WHERE ended_at IS NOT NULL;
