-- Oldest safe version: 0.1.0
-- The contract with storefronts (schema/contract.json): additive only. Nothing newer than SQLite 3.38.
-- Now is CAST((julianday('now')-2440587.5)*86400000 AS INTEGER): unixepoch('subsec') is NULL on SQLite 3.40.

CREATE VIEW products AS
SELECT p.product_id, t.language, t.title, t.tagline, p.sale_status, p.sellable, p.disabled_reason, p.disabled_source,
  p.expected_reopening, p.alternative_product_id,
  (SELECT c.from_price FROM product_price c WHERE c.product_id = p.product_id AND c.currency = m.currency) AS from_price,
  m.currency, p.city_id, t.city_name, p.country_id, t.country_name, p.venue_id, p.latitude, p.longitude, p.timezone, p.rating,
  COALESCE(t.merged_document, t.detail_document, t.list_document) AS document,
  t.checked_at, t.changed_at,
  CAST((julianday('now')-2440587.5)*86400000 AS INTEGER) >= t.stale_at AS stale
FROM product p
JOIN product_text t ON t.product_id = p.product_id
CROSS JOIN mirror m
WHERE p.withdrawn_at IS NULL;

CREATE VIEW withdrawn_products AS
SELECT p.product_id,
  (SELECT t.title FROM product_text t, mirror m WHERE t.product_id = p.product_id AND t.language = m.language) AS title,
  p.withdrawn_at, p.withdrawn_reason AS reason
FROM product p
WHERE p.withdrawn_at IS NOT NULL;

CREATE VIEW product_prices AS
SELECT c.product_id, c.currency, c.from_price
FROM product_price c
JOIN product p ON p.product_id = c.product_id
WHERE p.withdrawn_at IS NULL;

CREATE VIEW product_tags AS
SELECT g.product_id, g.tag_id
FROM product_tag g
JOIN product p ON p.product_id = g.product_id
WHERE p.withdrawn_at IS NULL;

CREATE VIEW product_experiences AS
SELECT x.product_id, x.experience_id
FROM product_experience x
JOIN product p ON p.product_id = x.product_id
WHERE p.withdrawn_at IS NULL
UNION
SELECT p.product_id, p.venue_id
FROM product p
WHERE p.withdrawn_at IS NULL AND p.venue_id IS NOT NULL;

CREATE VIEW checkout_information AS
SELECT c.product_id, c.language, c.has_timeslots, c.has_dynamic_pricing, c.must_know, c.good_to_know, c.document, c.checked_at,
  CAST((julianday('now')-2440587.5)*86400000 AS INTEGER) >= c.stale_at AS stale
FROM checkout_information_read c
JOIN product p ON p.product_id = c.product_id
WHERE p.withdrawn_at IS NULL;

CREATE VIEW variants AS
SELECT v.product_id, v.language, v.variant_id,
  COALESCE(json_extract(v.variants_document, '$.label'), json_extract(v.availability_document, '$.label')) AS label,
  COALESCE(json_extract(v.variants_document, '$.variant_type'), json_extract(v.availability_document, '$.variant_type')) AS variant_type,
  'variants' AS source,
  COALESCE(v.merged_document, v.variants_document) AS document,
  v.checked_at,
  CAST((julianday('now')-2440587.5)*86400000 AS INTEGER) >= v.stale_at AS stale
FROM variant v
JOIN product p ON p.product_id = v.product_id
WHERE p.withdrawn_at IS NULL AND v.variants_document IS NOT NULL
UNION ALL
SELECT v.product_id, v.language, v.variant_id,
  json_extract(v.availability_document, '$.label'),
  json_extract(v.availability_document, '$.variant_type'),
  'availability',
  v.availability_document,
  max(s.checked_at),
  CAST((julianday('now')-2440587.5)*86400000 AS INTEGER) >= max(s.stale_at)
FROM variant v
JOIN product p ON p.product_id = v.product_id
JOIN availability_span s ON s.product_id = v.product_id
JOIN json_each(s.variant_ids) l ON l.value = v.variant_id
WHERE p.withdrawn_at IS NULL AND v.variants_document IS NULL
GROUP BY v.product_id, v.language, v.variant_id;

CREATE VIEW images AS
SELECT i.product_id, i.position, i.image_key,
  json_extract(i.document, '$.small') AS small_url,
  json_extract(i.document, '$.medium') AS medium_url,
  json_extract(i.document, '$.large') AS large_url,
  json_extract(i.document, '$.extra_large') AS extra_large_url,
  json_extract(i.document, '$.alt_text') AS alt_text,
  i.credit,
  NULL AS file, p.images_verified_at AS verified_at, p.images_verified_at + 1209600000 AS expires_at, i.document
FROM image i
JOIN product p ON p.product_id = i.product_id
WHERE p.withdrawn_at IS NULL
  AND CAST((julianday('now')-2440587.5)*86400000 AS INTEGER) >= p.images_verified_at - 86400000
  AND CAST((julianday('now')-2440587.5)*86400000 AS INTEGER) < p.images_verified_at + 1209600000;

CREATE VIEW availability_days AS
SELECT d.product_id, d.date, d.currency,
  CASE WHEN p.sellable = 0 THEN 'not_on_sale' WHEN d.available = 1 THEN 'available' ELSE 'sold_out' END AS state,
  d.lowest_price, d.max_tickets, d.availability, s.max_tickets_per_order, s.checked_at,
  CAST((julianday('now')-2440587.5)*86400000 AS INTEGER) >= s.stale_at AS stale
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

CREATE VIEW bookable_days AS
SELECT d.product_id, d.date, d.currency, d.lowest_price, d.max_tickets, s.checked_at,
  CAST((julianday('now')-2440587.5)*86400000 AS INTEGER) >= s.stale_at AS stale
FROM day d
CROSS JOIN product p ON p.product_id = d.product_id
CROSS JOIN availability_span s ON s.product_id = d.product_id AND s.currency = d.currency
  AND s.from_date = (SELECT max(r.from_date) FROM availability_span r
    WHERE r.product_id = d.product_id AND r.currency = d.currency AND r.from_date <= d.date)
  AND s.to_date >= d.date
WHERE d.available = 1
  AND p.sellable = 1
  AND d.date >= COALESCE((SELECT date((julianday('now')-2440587.5)*86400 + z.offset_minutes*60, 'unixepoch') FROM zone_offset z
    WHERE z.timezone = COALESCE(p.timezone, '') AND z.valid_from <= CAST((julianday('now')-2440587.5)*86400000 AS INTEGER)
    ORDER BY z.valid_from DESC LIMIT 1), date('now', '-12 hours'));

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
  CAST((julianday('now')-2440587.5)*86400000 AS INTEGER) >= s.stale_at AS stale
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
-- read is stale; an image past its hard limit is expired instead.
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
    count(*) - COALESCE(sum(n.now < CASE q.resource WHEN 'availability' THEN max(r.stale_at, r.fetched_at + q.promise_ms) ELSE r.stale_at END), 0),
    0, min(COALESCE(r.fetched_at, 0)), q.promise_ms
  FROM (SELECT CAST((julianday('now')-2440587.5)*86400000 AS INTEGER) AS now) n
  CROSS JOIN promise q
  CROSS JOIN record r ON r.resource = q.resource AND r.part BETWEEN q.first_part AND q.last_part
  WHERE q.resource NOT IN ('products', 'images')
  GROUP BY q.resource, q.tier
);

CREATE VIEW mirror_info AS
SELECT contract_version, schema_version, written_by, feed_floor_seq, filled_at
FROM mirror;
