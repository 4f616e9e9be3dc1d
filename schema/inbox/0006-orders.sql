-- Oldest safe version: 0.1.0
-- Orders that storefronts told of under an id, so that each counts once. Hashes alone: nobody reads an order out of them.
CREATE TABLE told_order (
  order_number INTEGER PRIMARY KEY,  -- mirror.db remembers the last one it counted: those above it were never counted
  id_sha256 TEXT NOT NULL UNIQUE,
  contents_sha256 TEXT NOT NULL,     -- of the id together with what was told: the same id with other contents is refused
  told_at INTEGER NOT NULL
) STRICT;
CREATE INDEX told_order_age ON told_order (told_at);
