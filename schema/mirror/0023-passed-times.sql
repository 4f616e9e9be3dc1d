-- Oldest safe version: 0.1.0
-- A time that has begun at the venue is not sold any more: its slot has no row, prices and places of its date leave it out, and a
-- date without a time left is not on sale. Each view tells it by its own clock, also while the daemon is dead.

-- What can be bought of a date, from one instant to another: until its next time begins at the venue, which takes its price and its
-- places along. A date that is still far is one row (up to its first time), and is divided when it comes near.
CREATE TABLE bookable (
  product_id INTEGER NOT NULL,
  currency TEXT NOT NULL,
  date TEXT NOT NULL,
  from_at INTEGER NOT NULL,         -- 0: from whenever on
  until_at INTEGER NOT NULL,        -- excluded
  whole INTEGER NOT NULL CHECK (whole IN (0, 1)),  -- 1: still to be divided
  lowest_price INTEGER,
  max_tickets INTEGER,
  PRIMARY KEY (product_id, currency, date, from_at)
) STRICT, WITHOUT ROWID;
-- The end of each date by the offset in force then, as far as it is known.
INSERT INTO bookable (product_id, currency, date, from_at, until_at, whole, lowest_price, max_tickets)
SELECT d.product_id, d.currency, d.date, 0,
  CAST(round((julianday(d.date) - 2440587.5 + 1) * 86400000) AS INTEGER) - 60000 * COALESCE((
    SELECT z.offset_minutes FROM zone_offset z JOIN product p ON p.product_id = d.product_id
    WHERE z.timezone = COALESCE(p.timezone, '') AND z.valid_from <= (julianday(d.date) - 2440587.5 + 1) * 86400000
    ORDER BY z.valid_from DESC LIMIT 1), -720),
  1, d.lowest_price, d.max_tickets
FROM day d WHERE d.available = 1
ORDER BY d.product_id, d.currency, d.date;
CREATE INDEX bookable_by_price ON bookable (currency, date, lowest_price, product_id, max_tickets, from_at, until_at);
CREATE INDEX bookable_whole ON bookable (date) WHERE whole = 1;
DROP INDEX day_bookable;
-- Elsewhere the same time is another instant.
CREATE TRIGGER product_zone_changed AFTER UPDATE OF timezone ON product WHEN new.timezone IS NOT old.timezone BEGIN
  UPDATE bookable SET whole = 1 WHERE product_id = new.product_id;
END;

DROP VIEW bookable_days;
CREATE VIEW bookable_days AS
SELECT b.product_id, b.date, b.currency, b.lowest_price, b.max_tickets, s.checked_at,
  CAST((julianday('now')-2440587.5)*86400000 AS INTEGER) >= s.stale_at AS stale,
  4 * s.stale_at - 3 * s.checked_at AS expired_at,
  CASE WHEN CAST((julianday('now')-2440587.5)*86400000 AS INTEGER) >= 4 * s.stale_at - 3 * s.checked_at THEN 'expired'
    WHEN CAST((julianday('now')-2440587.5)*86400000 AS INTEGER) >= s.stale_at THEN 'stale' ELSE 'fresh' END AS freshness
FROM bookable b
CROSS JOIN product p ON p.product_id = b.product_id
CROSS JOIN availability_span s ON s.product_id = b.product_id AND s.currency = b.currency
  AND s.from_date = (SELECT max(r.from_date) FROM availability_span r
    WHERE r.product_id = b.product_id AND r.currency = b.currency AND r.from_date <= b.date)
  AND s.to_date >= b.date
WHERE p.sellable = 1 AND p.dates_off_at IS NULL
  AND CAST((julianday('now')-2440587.5)*86400000 + 0.5 AS INTEGER) >= b.from_at AND CAST((julianday('now')-2440587.5)*86400000 + 0.5 AS INTEGER) < b.until_at;

-- No venue's clock is more than 14 hours ahead: a date beyond that has begun nowhere, and is shown as it was read.
-- n: the venue's clock; where it is put back within hours, no further than it will show twice. l: what is left of a date that
-- has begun and lost a time: [times, whether tickets, lowest price, most tickets, places]; NULL: the date is whole.
DROP VIEW availability_days;
CREATE VIEW availability_days AS
SELECT d.product_id, d.date, d.currency,
  CASE WHEN p.sellable = 0 OR p.dates_off_at IS NOT NULL OR json_extract(l.value, '$[0]') = 0 THEN 'not_on_sale'
    WHEN CASE WHEN l.value IS NULL THEN d.available ELSE json_extract(l.value, '$[1]') END = 1 THEN 'available' ELSE 'sold_out' END AS state,
  CAST(CASE WHEN l.value IS NULL THEN d.lowest_price ELSE json_extract(l.value, '$[2]') END AS INTEGER) AS lowest_price,
  CAST(CASE WHEN l.value IS NULL THEN d.max_tickets ELSE json_extract(l.value, '$[3]') END AS INTEGER) AS max_tickets,
  CAST(CASE WHEN l.value IS NULL THEN d.availability ELSE json_extract(l.value, '$[4]') END AS INTEGER) AS availability,
  s.max_tickets_per_order, s.checked_at,
  (p.sellable = 1 AND p.dates_off_at IS NOT NULL) OR CAST((julianday('now')-2440587.5)*86400000 AS INTEGER) >= s.stale_at AS stale,
  4 * s.stale_at - 3 * s.checked_at AS expired_at,
  CASE WHEN CAST((julianday('now')-2440587.5)*86400000 AS INTEGER) >= 4 * s.stale_at - 3 * s.checked_at THEN 'expired'
    WHEN (p.sellable = 1 AND p.dates_off_at IS NOT NULL) OR CAST((julianday('now')-2440587.5)*86400000 AS INTEGER) >= s.stale_at THEN 'stale' ELSE 'fresh' END AS freshness
FROM day d
CROSS JOIN product p ON p.product_id = d.product_id
CROSS JOIN json_each(json_array(CASE WHEN d.date <= date('now', '+14 hours') THEN COALESCE((
    SELECT strftime('%Y-%m-%d %H:%M', min(max((julianday('now')-2440587.5)*86400, z.valid_from / 1000.0 - 0.001) + z.offset_minutes * 60), 'unixepoch')
    FROM zone_offset z
    WHERE z.timezone = COALESCE(p.timezone, '') AND z.valid_from >= (SELECT max(f.valid_from) FROM zone_offset f
      WHERE f.timezone = COALESCE(p.timezone, '') AND f.valid_from <= CAST((julianday('now')-2440587.5)*86400000 + 0.5 AS INTEGER))),
  strftime('%Y-%m-%d %H:%M', 'now', '-12 hours')) ELSE '' END)) n
CROSS JOIN json_each(json_array(json(CASE WHEN d.date = substr(n.value, 1, 10) THEN (
  SELECT CASE WHEN sum(u.passed) > 0 THEN json_array(
    sum(u.passed = 0), max(u.passed = 0 AND u.buyable),
    COALESCE(min(CASE WHEN u.passed = 0 AND u.buyable THEN u.paid END), min(CASE WHEN u.passed = 0 AND u.buyable THEN u.free END)),
    max(CASE WHEN u.passed = 0 THEN u.most END),
    CASE WHEN d.availability = 0 THEN 0 ELSE sum(CASE WHEN u.passed = 0 THEN u.places END) END) END
  FROM (
    SELECT n.value <> '' AND typeof(json_extract(t.value, '$[0]')) = 'integer' AND json_extract(t.value, '$[0]') >= 0
      AND d.date || printf(' %02d:%02d', json_extract(t.value, '$[0]') / 60, json_extract(t.value, '$[0]') % 60) <= n.value AS passed,
      json_extract(t.value, '$[1]') AS places,
      max(json_extract(o.value, '$[1]')) AS most,
      max(o.value IS NOT NULL AND d.availability IS NOT 0 AND json_extract(t.value, '$[1]') IS NOT 0 AND json_extract(o.value, '$[1]') IS NOT 0) AS buyable,
      min(CASE WHEN json_extract(o.value, '$[1]') IS NOT 0 AND json_extract(o.value, '$[2]') > 0 THEN json_extract(o.value, '$[2]') END) AS paid,
      min(CASE WHEN json_extract(o.value, '$[1]') IS NOT 0 AND json_extract(o.value, '$[2]') = 0 THEN 0 END) AS free
    FROM day_document c
    CROSS JOIN json_each(c.document, '$[2]') t
    LEFT JOIN json_each(t.value, '$[2]') o
    WHERE c.document_id = d.document_id
    GROUP BY t.key
  ) u) END))) l
CROSS JOIN availability_span s ON s.product_id = d.product_id AND s.currency = d.currency
  AND s.from_date = (SELECT max(r.from_date) FROM availability_span r
    WHERE r.product_id = d.product_id AND r.currency = d.currency AND r.from_date <= d.date)
  AND s.to_date >= d.date
WHERE p.withdrawn_at IS NULL AND d.date >= substr(n.value, 1, 10);

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
CROSS JOIN json_each(json_array(CASE WHEN d.date <= date('now', '+14 hours') THEN COALESCE((
    SELECT strftime('%Y-%m-%d %H:%M', min(max((julianday('now')-2440587.5)*86400, z.valid_from / 1000.0 - 0.001) + z.offset_minutes * 60), 'unixepoch')
    FROM zone_offset z
    WHERE z.timezone = COALESCE(p.timezone, '') AND z.valid_from >= (SELECT max(f.valid_from) FROM zone_offset f
      WHERE f.timezone = COALESCE(p.timezone, '') AND f.valid_from <= CAST((julianday('now')-2440587.5)*86400000 + 0.5 AS INTEGER))),
  strftime('%Y-%m-%d %H:%M', 'now', '-12 hours')) ELSE '' END)) n
CROSS JOIN availability_span s ON s.product_id = d.product_id AND s.currency = d.currency
  AND s.from_date = (SELECT max(r.from_date) FROM availability_span r
    WHERE r.product_id = d.product_id AND r.currency = d.currency AND r.from_date <= d.date)
  AND s.to_date >= d.date
CROSS JOIN day_document c ON c.document_id = d.document_id
CROSS JOIN json_each(c.document, '$[2]') t
CROSS JOIN json_each(t.value, '$[2]') o
WHERE p.withdrawn_at IS NULL AND d.date >= substr(n.value, 1, 10)
  AND NOT (n.value <> '' AND typeof(json_extract(t.value, '$[0]')) = 'integer' AND json_extract(t.value, '$[0]') >= 0
      AND d.date || printf(' %02d:%02d', json_extract(t.value, '$[0]') / 60, json_extract(t.value, '$[0]') % 60) <= n.value);
