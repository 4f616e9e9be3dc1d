-- Oldest safe version: 0.1.0
-- An answer for other dates than were asked for says nothing about those that it leaves out.

ALTER TABLE record ADD COLUMN unanswered_at INTEGER;   -- availability: since when some of its dates are not answered; NULL: the last answer spoke of all
CREATE INDEX record_unanswered ON record (product_id, failures) WHERE unanswered_at IS NOT NULL;

-- One arm a kind of row, each grouped in the order of the promises, so that nothing is sorted. A row that was never
-- read is stale, and so is one whose last answer left dates out, or is contradicted by the product's own read; an image past
-- its hard limit is expired instead.
DROP VIEW freshness;
CREATE VIEW freshness AS
SELECT resource, NULLIF(tier, '') AS tier, records, records - stale - expired AS fresh, stale, expired, oldest_checked_at,
  promise_ms, stale + expired = 0 AS kept
FROM (
  SELECT q.resource, q.tier, count(*) AS records, sum(n.now >= t.stale_at) AS stale, 0 AS expired,
    min(t.checked_at) AS oldest_checked_at, q.promise_ms
  FROM (SELECT CAST((julianday('now')-2440587.5)*86400000 AS INTEGER) AS now) n
  CROSS JOIN promise q
  CROSS JOIN product_text t
  CROSS JOIN product p ON p.product_id = t.product_id
  WHERE q.resource = 'products' AND p.withdrawn_at IS NULL
  GROUP BY q.resource, q.tier
  UNION ALL
  SELECT q.resource, q.tier, count(*),
    COALESCE(sum(n.now >= p.images_verified_at + q.promise_ms AND n.now < p.images_verified_at + 1209600000), 0),
    sum(p.images_verified_at IS NULL OR n.now >= p.images_verified_at + 1209600000 OR n.now < p.images_verified_at - 86400000),
    min(COALESCE(p.images_verified_at, 0)), q.promise_ms
  FROM (SELECT CAST((julianday('now')-2440587.5)*86400000 AS INTEGER) AS now) n
  CROSS JOIN promise q
  CROSS JOIN product p
  WHERE q.resource = 'images' AND p.withdrawn_at IS NULL
  GROUP BY q.resource, q.tier
  UNION ALL
  SELECT q.resource, q.tier, count(*),
    count(*) - COALESCE(sum(n.now < CASE q.resource WHEN 'availability' THEN max(r.stale_at, r.fetched_at + q.promise_ms) ELSE r.stale_at END
      AND r.unanswered_at IS NULL AND (r.off_sale_at IS NULL OR NOT EXISTS (SELECT 1 FROM product p WHERE p.product_id = r.product_id AND p.sellable = 1))), 0),
    0, min(COALESCE(r.fetched_at, 0)), q.promise_ms
  FROM (SELECT CAST((julianday('now')-2440587.5)*86400000 AS INTEGER) AS now) n
  CROSS JOIN promise q
  CROSS JOIN record r ON r.resource = q.resource AND r.part BETWEEN q.first_part AND q.last_part
  WHERE q.resource NOT IN ('products', 'images')
  GROUP BY q.resource, q.tier
);
