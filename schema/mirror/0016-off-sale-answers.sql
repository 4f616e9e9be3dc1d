-- Oldest safe version: 0.1.0
-- An answer that says "not on sale" says nothing about days. Whether it contradicts the product's own read is derived: the
-- answer is a fact of its record, the sale status one of its product, and while they differ no date of it is bookable.

ALTER TABLE record ADD COLUMN off_sale_at INTEGER;     -- availability: since when its answers say "not on sale"; NULL: the last one spoke of days
ALTER TABLE product ADD COLUMN dates_off_at INTEGER;   -- the earliest off_sale_at of its records
CREATE INDEX product_dates_off ON product (dates_off_at) WHERE dates_off_at IS NOT NULL;
CREATE INDEX record_off_sale ON record (product_id) WHERE off_sale_at IS NOT NULL;

CREATE TRIGGER record_off_sale_changed AFTER UPDATE OF off_sale_at ON record WHEN OLD.off_sale_at IS NOT NEW.off_sale_at
BEGIN
  UPDATE product SET dates_off_at = (SELECT min(off_sale_at) FROM record WHERE product_id = NEW.product_id AND off_sale_at IS NOT NULL)
  WHERE product_id = NEW.product_id;
END;
CREATE TRIGGER record_off_sale_dropped AFTER DELETE ON record WHEN OLD.off_sale_at IS NOT NULL
BEGIN
  UPDATE product SET dates_off_at = (SELECT min(off_sale_at) FROM record WHERE product_id = OLD.product_id AND off_sale_at IS NOT NULL)
  WHERE product_id = OLD.product_id;
END;

-- Until now such an answer was believed for as long as the list is, whatever the product itself said: those are read again.
UPDATE record SET off_sale_at = fetched_at
WHERE resource = 'availability' AND body_hash IS NULL
  AND stale_at - fetched_at > (SELECT max(promise_ms) FROM promise WHERE resource = 'availability');
UPDATE record SET due_at = min(due_at, fetched_at), due_reason = 'sale-status-doubted', lane = 1
WHERE off_sale_at IS NOT NULL AND product_id IN (SELECT product_id FROM product WHERE sellable = 1);

DROP VIEW availability_days;
CREATE VIEW availability_days AS
SELECT d.product_id, d.date, d.currency,
  CASE WHEN p.sellable = 0 OR p.dates_off_at IS NOT NULL THEN 'not_on_sale' WHEN d.available = 1 THEN 'available' ELSE 'sold_out' END AS state,
  d.lowest_price, d.max_tickets, d.availability, s.max_tickets_per_order, s.checked_at,
  (p.sellable = 1 AND p.dates_off_at IS NOT NULL) OR CAST((julianday('now')-2440587.5)*86400000 AS INTEGER) >= s.stale_at AS stale,
  4 * s.stale_at - 3 * s.checked_at AS expired_at,
  CASE WHEN CAST((julianday('now')-2440587.5)*86400000 AS INTEGER) >= 4 * s.stale_at - 3 * s.checked_at THEN 'expired'
    WHEN (p.sellable = 1 AND p.dates_off_at IS NOT NULL) OR CAST((julianday('now')-2440587.5)*86400000 AS INTEGER) >= s.stale_at THEN 'stale' ELSE 'fresh' END AS freshness
FROM day d
CROSS JOIN product p ON p.product_id = d.product_id
CROSS JOIN availability_span s ON s.product_id = d.product_id AND s.currency = d.currency
  AND s.from_date = (SELECT max(r.from_date) FROM availability_span r
    WHERE r.product_id = d.product_id AND r.currency = d.currency AND r.from_date <= d.date)
  AND s.to_date >= d.date
WHERE p.withdrawn_at IS NULL
  AND d.date >= COALESCE((SELECT date((julianday('now')-2440587.5)*86400 + z.offset_minutes*60, 'unixepoch') FROM zone_offset z
    WHERE z.timezone = COALESCE(p.timezone, '') AND z.valid_from <= CAST((julianday('now')-2440587.5)*86400000 AS INTEGER)
    ORDER BY z.valid_from DESC LIMIT 1), date('now', '-12 hours'));

DROP VIEW bookable_days;
CREATE VIEW bookable_days AS
SELECT d.product_id, d.date, d.currency, d.lowest_price, d.max_tickets, s.checked_at,
  CAST((julianday('now')-2440587.5)*86400000 AS INTEGER) >= s.stale_at AS stale,
  4 * s.stale_at - 3 * s.checked_at AS expired_at,
  CASE WHEN CAST((julianday('now')-2440587.5)*86400000 AS INTEGER) >= 4 * s.stale_at - 3 * s.checked_at THEN 'expired'
    WHEN CAST((julianday('now')-2440587.5)*86400000 AS INTEGER) >= s.stale_at THEN 'stale' ELSE 'fresh' END AS freshness
FROM day d
CROSS JOIN product p ON p.product_id = d.product_id
CROSS JOIN availability_span s ON s.product_id = d.product_id AND s.currency = d.currency
  AND s.from_date = (SELECT max(r.from_date) FROM availability_span r
    WHERE r.product_id = d.product_id AND r.currency = d.currency AND r.from_date <= d.date)
  AND s.to_date >= d.date
WHERE d.available = 1
  AND p.sellable = 1 AND p.dates_off_at IS NULL
  AND d.date >= COALESCE((SELECT date((julianday('now')-2440587.5)*86400 + z.offset_minutes*60, 'unixepoch') FROM zone_offset z
    WHERE z.timezone = COALESCE(p.timezone, '') AND z.valid_from <= CAST((julianday('now')-2440587.5)*86400000 AS INTEGER)
    ORDER BY z.valid_from DESC LIMIT 1), date('now', '-12 hours'));

DROP VIEW availability_slots;
CREATE VIEW availability_slots AS
SELECT d.product_id, d.date, d.currency,
  CASE WHEN typeof(json_extract(t.value, '$[0]')) = 'text' THEN json_extract(t.value, '$[0]')
    WHEN json_extract(t.value, '$[0]') < 0 THEN 'whole_day'
    ELSE printf('%02d:%02d', json_extract(t.value, '$[0]') / 60, json_extract(t.value, '$[0]') % 60) END AS time,
  json_extract(o.value, '$[0]') AS variant_id,
  json_extract(t.value, '$[1]') AS availability,
  json_extract(o.value, '$[1]') AS max_tickets,
  json_extract(o.value, '$[2]') AS retail_price,
  json_extract(o.value, '$[3]') AS ticket_value,
  json_extract(o.value, '$[4]') AS booking_fee,
  json_extract(o.value, '$[5]') AS commission,
  json_extract(o.value, '$[6]') AS pricing_restriction,
  s.checked_at,
  (p.sellable = 1 AND p.dates_off_at IS NOT NULL) OR CAST((julianday('now')-2440587.5)*86400000 AS INTEGER) >= s.stale_at AS stale,
  4 * s.stale_at - 3 * s.checked_at AS expired_at,
  CASE WHEN CAST((julianday('now')-2440587.5)*86400000 AS INTEGER) >= 4 * s.stale_at - 3 * s.checked_at THEN 'expired'
    WHEN (p.sellable = 1 AND p.dates_off_at IS NOT NULL) OR CAST((julianday('now')-2440587.5)*86400000 AS INTEGER) >= s.stale_at THEN 'stale' ELSE 'fresh' END AS freshness
FROM day d
CROSS JOIN product p ON p.product_id = d.product_id
CROSS JOIN availability_span s ON s.product_id = d.product_id AND s.currency = d.currency
  AND s.from_date = (SELECT max(r.from_date) FROM availability_span r
    WHERE r.product_id = d.product_id AND r.currency = d.currency AND r.from_date <= d.date)
  AND s.to_date >= d.date
CROSS JOIN day_document c ON c.document_id = d.document_id
CROSS JOIN json_each(c.document, '$[2]') t
CROSS JOIN json_each(t.value, '$[2]') o
WHERE p.withdrawn_at IS NULL
  AND d.date >= COALESCE((SELECT date((julianday('now')-2440587.5)*86400 + z.offset_minutes*60, 'unixepoch') FROM zone_offset z
    WHERE z.timezone = COALESCE(p.timezone, '') AND z.valid_from <= CAST((julianday('now')-2440587.5)*86400000 AS INTEGER)
    ORDER BY z.valid_from DESC LIMIT 1), date('now', '-12 hours'));

-- One arm a kind of row, each grouped in the order of the promises, so that nothing is sorted. A row that was never
-- read is stale, and so is one whose last answer the product's own read contradicts; an image past its hard limit is
-- expired instead.
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
      AND (r.off_sale_at IS NULL OR NOT EXISTS (SELECT 1 FROM product p WHERE p.product_id = r.product_id AND p.sellable = 1))), 0),
    0, min(COALESCE(r.fetched_at, 0)), q.promise_ms
  FROM (SELECT CAST((julianday('now')-2440587.5)*86400000 AS INTEGER) AS now) n
  CROSS JOIN promise q
  CROSS JOIN record r ON r.resource = q.resource AND r.part BETWEEN q.first_part AND q.last_part
  WHERE q.resource NOT IN ('products', 'images')
  GROUP BY q.resource, q.tier
);
