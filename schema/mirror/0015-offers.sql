-- Oldest safe version: 0.1.0
-- Paths of the service profile that the specification does not list: whether the service has them, by what it answered.
CREATE TABLE offer (
  path TEXT PRIMARY KEY CHECK (path IN ('experiences', 'product', 'subscription', 'reactivate')),
  answered_at INTEGER,              -- the last answer that shows that it exists, to the hour; NULL: none ever did
  refused_at INTEGER,               -- the first 404 or 405 since; NULL: none
  not_offered_at INTEGER,           -- since when it counts as not offered; NULL: it is asked as usual
  asked_at INTEGER                  -- when it was last asked while it counts so
) STRICT;
