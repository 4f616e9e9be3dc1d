-- Oldest safe version: 0.1.0
-- Each currency has a read of its own: a price says when that was, and how far it can be trusted.

ALTER TABLE product_price ADD COLUMN stale_at INTEGER NOT NULL DEFAULT 0;
UPDATE product_price SET stale_at = read_at + COALESCE((SELECT promise_ms FROM promise WHERE resource = 'products'), 604800000);

DROP VIEW product_prices;
CREATE VIEW product_prices AS
SELECT c.product_id, c.currency, c.from_price, c.read_at AS checked_at,
  CAST((julianday('now')-2440587.5)*86400000 AS INTEGER) >= c.stale_at AS stale,
  4 * c.stale_at - 3 * c.read_at AS expired_at,
  CASE WHEN CAST((julianday('now')-2440587.5)*86400000 AS INTEGER) >= 4 * c.stale_at - 3 * c.read_at THEN 'expired'
    WHEN CAST((julianday('now')-2440587.5)*86400000 AS INTEGER) >= c.stale_at THEN 'stale' ELSE 'fresh' END AS freshness
FROM product_price c
JOIN product p ON p.product_id = c.product_id
WHERE p.withdrawn_at IS NULL;
