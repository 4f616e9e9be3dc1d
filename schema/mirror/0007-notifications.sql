-- Oldest safe version: 0.1.0
-- What notifications did: closures that no read has decided yet, records that wait for the read they asked for, and
-- how far the inbox was applied. No delivery, address or secret stands here.

ALTER TABLE mirror ADD COLUMN last_delivery_id INTEGER NOT NULL DEFAULT 0;  -- of inbox.db: the last one applied

-- The newest notification that no read sent after it has answered; NULL: none is open.
ALTER TABLE record ADD COLUMN notified_at INTEGER;

-- A product that a notification closed (reliability.md 2.3), and with which words. In force until ended_at.
CREATE TABLE closure (
  closure_id INTEGER PRIMARY KEY,
  product_id INTEGER NOT NULL REFERENCES product,
  delivery_id INTEGER NOT NULL,
  notified_at INTEGER NOT NULL,     -- when the newest delivery that said so was received
  applied_at INTEGER,               -- NULL: one too many at once, it waits for its read
  available_at INTEGER,             -- when the first read since that says available was sent
  confirmed_at INTEGER,             -- when the first read since that says disabled was sent
  ended_at INTEGER,                 -- undone where no read confirmed it, else reopened
  reason TEXT,
  expected_reopening TEXT,
  alternative_product_id INTEGER
) STRICT;
CREATE UNIQUE INDEX closure_in_force ON closure (product_id) WHERE ended_at IS NULL;
CREATE INDEX closure_applied ON closure (applied_at);
CREATE INDEX product_alternative ON product (alternative_product_id) WHERE alternative_product_id IS NOT NULL;

-- The recommended product while it is itself sellable; where it is not, the one recommended in its place.
CREATE VIEW alternatives AS
WITH RECURSIVE recommended (product_id, candidate_id, depth) AS (
  SELECT p.product_id, p.alternative_product_id, 1
  FROM product p
  WHERE p.alternative_product_id IS NOT NULL AND p.withdrawn_at IS NULL AND p.sellable = 0 AND p.closure_unconfirmed = 0
  UNION ALL
  SELECT r.product_id, c.alternative_product_id, r.depth + 1
  FROM recommended r
  JOIN product c ON c.product_id = r.candidate_id
  WHERE c.sellable = 0 AND c.alternative_product_id IS NOT NULL AND r.depth < 8
)
SELECT r.product_id, r.candidate_id AS alternative_product_id
FROM recommended r
JOIN product a ON a.product_id = r.candidate_id
WHERE a.sellable = 1 AND r.candidate_id <> r.product_id;
