-- Oldest safe version: 0.1.0
-- The daemon's own durable file: never shared with a storefront.
CREATE TABLE inbox (
  inbox_id INTEGER PRIMARY KEY CHECK (inbox_id = 1),
  pair_id TEXT NOT NULL,            -- shared with mirror.db
  stopped_at INTEGER,               -- the last clean stop; NULL while running, so a crash is noticed
  mirror_size INTEGER,              -- mirror.db as it was then: another size or time means somebody touched it
  mirror_modified_at INTEGER
) STRICT;
