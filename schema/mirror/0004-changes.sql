-- Oldest safe version: 0.1.0
-- The change feed. AUTOINCREMENT: its counter is part of the transaction, so numbers have no gaps and none comes twice,
-- also after old rows were pruned.
CREATE TABLE change (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  at INTEGER NOT NULL,              -- when the read that found it was sent
  product_id INTEGER NOT NULL,
  kind TEXT NOT NULL,               -- domain/change.ts
  language TEXT,
  date TEXT,
  detail TEXT NOT NULL,             -- JSON
  reason TEXT                       -- why that read was made
) STRICT;
CREATE INDEX change_at ON change (at);
CREATE INDEX change_of_product ON change (product_id, date);

CREATE VIEW changes AS
SELECT seq, at, product_id, kind, language, date, detail
FROM change;
