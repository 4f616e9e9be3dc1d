-- Oldest safe version: 0.1.0
-- What a storefront does with what it finds, as data, so that every storefront decides alike; and beside each row, which of
-- the three it is. A row expires four promises after its read, by whatever cadence it was promised when it was read: dates
-- after one to four days by their tier, texts after weeks. Images alone have a limit of their own: 14 days.

DROP VIEW products;
CREATE VIEW products AS
SELECT p.product_id, t.language, t.title, t.tagline, p.sale_status, p.sellable, p.disabled_reason, p.disabled_source,
  p.expected_reopening, p.alternative_product_id,
  (SELECT c.from_price FROM product_price c WHERE c.product_id = p.product_id AND c.currency = m.currency) AS from_price,
  m.currency, p.city_id, t.city_name, p.country_id, t.country_name, p.venue_id, p.latitude, p.longitude, p.timezone, p.rating,
  COALESCE(t.merged_document, t.detail_document, t.list_document) AS document,
  t.checked_at, t.changed_at,
  CAST((julianday('now')-2440587.5)*86400000 AS INTEGER) >= t.stale_at AS stale,
  4 * t.stale_at - 3 * t.checked_at AS expired_at,
  CASE WHEN CAST((julianday('now')-2440587.5)*86400000 AS INTEGER) >= 4 * t.stale_at - 3 * t.checked_at THEN 'expired'
    WHEN CAST((julianday('now')-2440587.5)*86400000 AS INTEGER) >= t.stale_at THEN 'stale' ELSE 'fresh' END AS freshness,
  COALESCE((SELECT CASE WHEN CAST((julianday('now')-2440587.5)*86400000 AS INTEGER) >= t.detail_read_at + 4 * q.promise_ms THEN 'expired'
      WHEN CAST((julianday('now')-2440587.5)*86400000 AS INTEGER) >= t.detail_read_at + q.promise_ms THEN 'stale' ELSE 'fresh' END
    FROM promise q WHERE q.resource = 'product_detail' AND t.detail_read_at IS NOT NULL), 'unknown') AS detail_freshness
FROM product p
JOIN product_text t ON t.product_id = p.product_id
CROSS JOIN mirror m
WHERE p.withdrawn_at IS NULL;

DROP VIEW checkout_information;
CREATE VIEW checkout_information AS
SELECT c.product_id, c.language, c.has_timeslots, c.has_dynamic_pricing, c.must_know, c.good_to_know, c.document, c.checked_at,
  CAST((julianday('now')-2440587.5)*86400000 AS INTEGER) >= c.stale_at AS stale,
  4 * c.stale_at - 3 * c.checked_at AS expired_at,
  CASE WHEN CAST((julianday('now')-2440587.5)*86400000 AS INTEGER) >= 4 * c.stale_at - 3 * c.checked_at THEN 'expired'
    WHEN CAST((julianday('now')-2440587.5)*86400000 AS INTEGER) >= c.stale_at THEN 'stale' ELSE 'fresh' END AS freshness
FROM checkout_information_read c
JOIN product p ON p.product_id = c.product_id
WHERE p.withdrawn_at IS NULL;

DROP VIEW availability_days;
CREATE VIEW availability_days AS
SELECT d.product_id, d.date, d.currency,
  CASE WHEN p.sellable = 0 THEN 'not_on_sale' WHEN d.available = 1 THEN 'available' ELSE 'sold_out' END AS state,
  d.lowest_price, d.max_tickets, d.availability, s.max_tickets_per_order, s.checked_at,
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
  AND p.sellable = 1
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
CROSS JOIN day_document c ON c.document_id = d.document_id
CROSS JOIN json_each(c.document, '$[2]') t
CROSS JOIN json_each(t.value, '$[2]') o
WHERE p.withdrawn_at IS NULL
  AND d.date >= COALESCE((SELECT date((julianday('now')-2440587.5)*86400 + z.offset_minutes*60, 'unixepoch') FROM zone_offset z
    WHERE z.timezone = COALESCE(p.timezone, '') AND z.valid_from <= CAST((julianday('now')-2440587.5)*86400000 AS INTEGER)
    ORDER BY z.valid_from DESC LIMIT 1), date('now', '-12 hours'));

DROP VIEW variants;
CREATE VIEW variants AS
SELECT v.product_id, v.language, v.variant_id,
  COALESCE(json_extract(v.variants_document, '$.label'), json_extract(v.availability_document, '$.label')) AS label,
  COALESCE(json_extract(v.variants_document, '$.variant_type'), json_extract(v.availability_document, '$.variant_type')) AS variant_type,
  'variants' AS source,
  COALESCE(v.merged_document, v.variants_document) AS document,
  v.checked_at,
  CAST((julianday('now')-2440587.5)*86400000 AS INTEGER) >= v.stale_at AS stale,
  4 * v.stale_at - 3 * v.checked_at AS expired_at,
  CASE WHEN CAST((julianday('now')-2440587.5)*86400000 AS INTEGER) >= 4 * v.stale_at - 3 * v.checked_at THEN 'expired'
    WHEN CAST((julianday('now')-2440587.5)*86400000 AS INTEGER) >= v.stale_at THEN 'stale' ELSE 'fresh' END AS freshness
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
  CAST((julianday('now')-2440587.5)*86400000 AS INTEGER) >= max(s.stale_at),
  max(4 * s.stale_at - 3 * s.checked_at),
  CASE WHEN CAST((julianday('now')-2440587.5)*86400000 AS INTEGER) >= max(4 * s.stale_at - 3 * s.checked_at) THEN 'expired'
    WHEN CAST((julianday('now')-2440587.5)*86400000 AS INTEGER) >= max(s.stale_at) THEN 'stale' ELSE 'fresh' END
FROM variant v
JOIN product p ON p.product_id = v.product_id
JOIN availability_span s ON s.product_id = v.product_id
JOIN json_each(s.variant_ids) l ON l.value = v.variant_id
WHERE p.withdrawn_at IS NULL AND v.variants_document IS NULL
GROUP BY v.product_id, v.language, v.variant_id;

-- show: as it stands. show_as_from: as an indication ("from 18.50"), never as the amount to pay. check_first: as it stands,
-- and asked (POST /v1/check) before anything is promised on it. hide: leave it out, and say neither yes nor no.
-- Whatever stands here, an order is checked before it is made.
CREATE VIEW policies AS
SELECT column1 AS resource, column2 AS state, column3 AS action, column4 AS expires_after, column5 AS reason
FROM (VALUES
  ('products', 'fresh', 'show', 4, 'titles and sale status are those of the last list, within its cadence'),
  ('products', 'stale', 'show', 4, 'a title seldom changes, and a closed product is announced or found by the next read'),
  ('products', 'expired', 'check_first', 4, 'nobody has seen it in the list for weeks: it may be gone or closed'),
  ('products', 'unknown', 'hide', 4, 'the service does not list it, or not any more'),
  ('product_prices', 'fresh', 'show_as_from', 4, 'it is what the list says of the product, not the price of the chosen date'),
  ('product_prices', 'stale', 'show_as_from', 4, 'it is an indication anyway; the date that is chosen has its own price'),
  ('product_prices', 'expired', 'hide', 4, 'a price of weeks ago is advertising what may not exist'),
  ('product_prices', 'unknown', 'hide', 4, 'no price was sent, or none that is exact in this currency'),
  ('product_detail', 'fresh', 'show', 4, 'descriptions are those of the last read, within its cadence'),
  ('product_detail', 'stale', 'show', 4, 'texts change seldom, and an old one beats none'),
  ('product_detail', 'expired', 'hide', 4, 'what is said to be included may not be any more: the title stands without it'),
  ('product_detail', 'unknown', 'hide', 4, 'there is no description to show'),
  ('checkout_information', 'fresh', 'show', 4, 'what a customer must know is that of the last read, within its cadence'),
  ('checkout_information', 'stale', 'show', 4, 'it changes seldom, and must be shown before a sale in any case'),
  ('checkout_information', 'expired', 'check_first', 4, 'what must be shown before a sale may have changed: ask before one is made'),
  ('checkout_information', 'unknown', 'hide', 4, 'what must be shown before a sale is not known: offer none'),
  ('variants', 'fresh', 'show', 4, 'the options are those of the last read, within its cadence'),
  ('variants', 'stale', 'show', 4, 'options change less than monthly, and the dates say which of them are sold'),
  ('variants', 'expired', 'check_first', 4, 'an option may be gone: ask before it is promised'),
  ('variants', 'unknown', 'hide', 4, 'it has no name to be sold under'),
  ('experiences', 'fresh', 'show', 4, 'which product belongs to which venue is that of the last walk'),
  ('experiences', 'stale', 'show', 4, 'a product hardly ever moves to another venue'),
  ('experiences', 'expired', 'show', 4, 'a list by venue that is old still leads to products with a freshness of their own'),
  ('experiences', 'unknown', 'hide', 4, 'the venue was never read: list the product elsewhere'),
  ('images', 'fresh', 'show', NULL, 'confirmed within its cadence: with its credit'),
  ('images', 'stale', 'show', NULL, 'confirmed less than 14 days ago, which the service allows: with its credit'),
  ('images', 'expired', 'hide', NULL, 'not confirmed for 14 days: it may be unpublished, and the view has it no more'),
  ('images', 'unknown', 'hide', NULL, 'no complete read has returned it: there is no licence to show it'),
  ('availability', 'fresh', 'show', 4, 'read within the cadence of its tier'),
  ('availability', 'stale', 'check_first', 4, 'it may have sold out or come back since: ask when a shopper picks it'),
  ('availability', 'expired', 'hide', 4, 'four reads in a row are missing: nobody knows, so it is neither available nor sold out'),
  ('availability', 'unknown', 'hide', 4, 'a date without a row was never read: it is neither available nor sold out'),
  ('day_prices', 'fresh', 'show', 4, 'the price of that date, read within the cadence of its tier'),
  ('day_prices', 'stale', 'show_as_from', 4, 'it may have changed since: the check before the order brings the amount'),
  ('day_prices', 'expired', 'hide', 4, 'too old to be quoted, even as from'),
  ('day_prices', 'unknown', 'hide', 4, 'sold out, or no price that is exact in this currency'));
