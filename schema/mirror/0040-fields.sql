-- Oldest safe version: 0.1.0
-- What share of products carries a member of the service's answers, and what share usually does: a member gone from most
-- of them is told.
CREATE TABLE _field (
  field TEXT PRIMARY KEY,
  usual REAL NOT NULL,
  share REAL NOT NULL,
  looked_at INTEGER NOT NULL
) STRICT;
