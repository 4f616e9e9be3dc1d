-- The views for storefronts, as they stand: the contract of schema/contract.json. They are made anew, in this order, whenever
-- a file's own differ (src/sqlite/database-file.ts), so a change of a view is a change here and needs no numbered step.
--
-- `p.*` at the beginning stands for the columns that src/mirror/contract declares and the view does not compute
-- (src/sqlite/view-columns.ts): all come in the order of the declaration.
--
-- Nothing newer than SQLite 3.38. A comment has a line of its own: a file gets each view as one line, and drizzle-kit
-- wants a SELECT at its beginning. A column that is an expression is CAST to its type, so that it compares as it; one of a
-- table stands bare, as it would lose its index. Now is unixepoch()*1000, written where it is needed: it is up to a second late, and
-- a hard limit adds that second. Of a subquery the index would lose its order.

CREATE VIEW withdrawn_products AS
SELECT p.product_id, t.title,
  CAST((SELECT NULLIF(e.value, '') FROM json_each(COALESCE(t.merged_document, t.detail_document, t.list_document)) e
    WHERE e.key = 'product_slug' AND e.type = 'text') AS TEXT) AS slug, p.city_id, t.city_name,
  CAST(COALESCE(
    (SELECT a.product_id FROM _product a WHERE a.product_id = p.alternative_product_id AND a.sellable = 1),
    (SELECT v.product_id FROM _product v LEFT JOIN _product_list_place l ON l.product_id = v.product_id
      WHERE v.venue_id = p.venue_id AND v.withdrawn_at IS NULL AND v.sellable = 1
      ORDER BY l.list_place IS NULL, l.list_place, v.product_id LIMIT 1)) AS INTEGER) AS successor_product_id,
  p.withdrawn_at, p.withdrawn_reason AS reason
FROM _product p
CROSS JOIN _mirror m
LEFT JOIN _product_text t ON t.product_id = p.product_id AND t.language = m.language
WHERE p.withdrawn_at IS NOT NULL;

CREATE VIEW changes AS
SELECT c.*
FROM _change c WHERE c.seq <= coalesce((SELECT last_seq FROM _row_feed), 9223372036854775807);

CREATE VIEW subscriptions AS
SELECT s.subscription_id, s.type, s.status,
  CAST(CASE WHEN s.type <> 'products_i_sell'
    THEN (SELECT count(*) FROM _subscription_product c WHERE c.subscription_id = s.subscription_id) END AS INTEGER) AS covered_products,
  s.last_delivery_at,
  CAST(CASE WHEN s.announceable > 0 THEN CAST(s.announced AS REAL) / s.announceable END AS REAL) AS trust
FROM _subscription s
WHERE s.declared_id IS NOT NULL;

CREATE VIEW images AS
SELECT i.*, p.images_verified_at AS verified_at, CAST(p.images_verified_at + 1209600000 AS INTEGER) AS expires_at
FROM image i
JOIN _product p ON p.product_id = i.product_id
WHERE p.withdrawn_at IS NULL
  AND i.withdrawn_at IS NULL
  AND (i.doubted_at IS NULL OR i.doubted_at < p.images_verified_at)
  AND unixepoch()*1000 >= p.images_verified_at - 86400000
  AND unixepoch()*1000 + 999 < p.images_verified_at + 1209600000;

CREATE VIEW experience_images AS
SELECT e.*, CAST(json_extract(i.value, '$[0]') AS INTEGER) AS position, CAST(json_extract(i.value, '$[1]') AS TEXT) AS image_key,
  CAST(json_extract(i.value, '$[3].small') AS TEXT) AS small_url, CAST(json_extract(i.value, '$[3].medium') AS TEXT) AS medium_url,
  CAST(json_extract(i.value, '$[3].large') AS TEXT) AS large_url, CAST(json_extract(i.value, '$[3].extra_large') AS TEXT) AS extra_large_url,
  CAST(json_extract(i.value, '$[3].alt_text') AS TEXT) AS alt_text, CAST(json_extract(i.value, '$[2]') AS TEXT) AS credit,
  e.images_verified_at AS verified_at, CAST(e.images_verified_at + 1209600000 AS INTEGER) AS expires_at,
  CAST(json_extract(i.value, '$[3]') AS TEXT) AS document
FROM _experience e
CROSS JOIN json_each(e.images) i
WHERE unixepoch()*1000 >= e.images_verified_at - 86400000
  AND unixepoch()*1000 + 999 < e.images_verified_at + 1209600000;

CREATE VIEW availability_error_rate AS
SELECT product_id, tier, CAST(sum(checks) AS INTEGER) AS checks, CAST(sum(wrong) AS INTEGER) AS wrong,
  CAST(sum(orders) AS INTEGER) AS orders, CAST(sum(orders_wrong) AS INTEGER) AS orders_wrong,
  CAST(CAST(sum(wrong) + sum(orders_wrong) AS REAL) / NULLIF(sum(checks) + sum(orders), 0) AS REAL) AS rate,
  CAST(sum(said_available) AS INTEGER) AS said_available, CAST(sum(said_sold_out) AS INTEGER) AS said_sold_out,
  CAST(sum(said_price) AS INTEGER) AS said_price, CAST(sum(tickets) AS INTEGER) AS tickets,
  CAST(sum(unknown) AS INTEGER) AS unknown, CAST(sum(unanswered) AS INTEGER) AS unanswered,
  CAST(min(day) * 86400000 AS INTEGER) AS since_at
FROM _check_count
GROUP BY product_id, tier;

CREATE VIEW products AS
SELECT p.*, x.from_price, CAST(CASE WHEN x.shut = 0 THEN x.lowest_price END AS INTEGER) AS lowest_price,
  CAST(CASE WHEN x.shut = 0 THEN x.lowest_adult_price END AS INTEGER) AS lowest_adult_price,
  CAST(CASE WHEN x.shut = 0 THEN x.price_variant_type END AS TEXT) AS price_variant_type, x.prediscount_price,
  CAST(COALESCE(p.city_path || '-', '') || p.city_id AS TEXT) AS city_slug,
  CAST(date(unixepoch() + 60 * CASE WHEN unixepoch()*1000 >= p.offset_until_at THEN p.next_utc_offset ELSE p.utc_offset END, 'unixepoch') AS TEXT) AS venue_today,
  CAST(unixepoch()*1000 >= p.shown_stale_at AS INTEGER) AS stale,
  CAST(CASE WHEN unixepoch()*1000 >= p.expired_at THEN 'expired' WHEN unixepoch()*1000 >= p.shown_stale_at THEN 'stale' ELSE 'fresh' END AS TEXT) AS freshness,
  CAST(CASE WHEN unixepoch()*1000 >= p.detail_read_at + 4 * p.detail_target_ms THEN 'expired'
    WHEN unixepoch()*1000 >= p.detail_read_at + p.detail_target_ms THEN 'stale'
    WHEN p.detail_read_at + p.detail_target_ms IS NULL THEN 'unknown' ELSE 'fresh' END AS TEXT) AS detail_freshness
FROM product p
LEFT JOIN price x ON x.product_id = p.product_id AND x.currency = p.currency
  AND x.from_at <= unixepoch()*1000 AND x.until_at > unixepoch()*1000;

CREATE VIEW checkout_information AS
SELECT c.*, CAST(unixepoch()*1000 >= COALESCE(c.held_at, c.stale_at) AS INTEGER) AS stale,
  CAST(4 * c.stale_at - 4 * c.checked_at + COALESCE(c.held_at, c.checked_at) AS INTEGER) AS expired_at,
  CAST(CASE WHEN unixepoch()*1000 >= 4 * c.stale_at - 4 * c.checked_at + COALESCE(c.held_at, c.checked_at) THEN 'expired'
    WHEN unixepoch()*1000 >= COALESCE(c.held_at, c.stale_at) THEN 'stale' ELSE 'fresh' END AS TEXT) AS freshness
FROM checkout c
WHERE c.shown = 1;

-- What only availability has named is as new as the newest window that names it.
CREATE VIEW variants AS
SELECT v.*, l.language, v.language AS language_shown,
  CAST(CASE WHEN v.variants_document IS NULL THEN 'availability' ELSE 'variants' END AS TEXT) AS source,
  CAST(CASE WHEN v.group_ids IS NOT NULL THEN (SELECT CASE WHEN count(g.name) > 0 THEN json_group_array(g.name) END FROM json_each(v.group_ids) e
    LEFT JOIN _variant_group g ON g.product_id = v.product_id AND g.group_id = e.value) END AS TEXT) AS group_names,
  CAST(COALESCE(v.merged_document, v.variants_document, v.availability_document) AS TEXT) AS document,
  CAST(v.read_at AS INTEGER) AS checked_at, CAST(unixepoch()*1000 >= v.shown_stale_at AS INTEGER) AS stale, CAST(v.expired_at AS INTEGER) AS expired_at,
  CAST(CASE WHEN unixepoch()*1000 >= v.expired_at THEN 'expired' WHEN unixepoch()*1000 >= v.shown_stale_at THEN 'stale' ELSE 'fresh' END AS TEXT) AS freshness
FROM (
  SELECT *, checked_at AS read_at, COALESCE(held_at, stale_at) AS shown_stale_at,
    4 * stale_at - 4 * checked_at + COALESCE(held_at, checked_at) AS expired_at
  FROM _variant
  WHERE variants_document IS NOT NULL
  UNION ALL
  SELECT n.*, max(s.checked_at), max(COALESCE(s.held_at, s.stale_at)), max(s.expired_at)
  FROM _variant n
  JOIN date_window s ON s.product_id = n.product_id
  JOIN json_each(s.variant_ids) i ON i.value = n.variant_id
  WHERE n.variants_document IS NULL
  GROUP BY n.product_id, n.language, n.variant_id
) v
JOIN _product p ON p.product_id = v.product_id
CROSS JOIN _mirror m
CROSS JOIN languages l
WHERE p.withdrawn_at IS NULL AND v.language = COALESCE((SELECT x.language FROM _variant x
  WHERE x.product_id = v.product_id AND x.language = l.language AND x.variant_id = v.variant_id), m.language);

CREATE VIEW mirror_info AS
SELECT m.*, CAST((SELECT f.published_at FROM _followed f WHERE f.followed_id = 1) AS INTEGER) AS published_at
FROM _mirror m;

CREATE VIEW freshness AS
SELECT resource, CAST(NULLIF(tier, '') AS TEXT) AS tier, CAST(records AS INTEGER) AS records,
  CAST(records - stale - expired AS INTEGER) AS fresh, CAST(stale AS INTEGER) AS stale, CAST(expired AS INTEGER) AS expired,
  CAST(oldest_checked_at AS INTEGER) AS oldest_checked_at, target_ms, CAST(stale + expired = 0 AS INTEGER) AS met
FROM (
  -- A list that leaves out products counts as a record that is not fresh: nobody knows them.
  SELECT q.resource, q.tier, count(*) + max(l.short) AS records, sum(n.now >= t.stale_at) + max(l.short) AS stale, 0 AS expired,
    min(t.checked_at) AS oldest_checked_at, q.target_ms
  FROM (SELECT unixepoch()*1000 AS now) n
  CROSS JOIN (SELECT count(*) AS short FROM _record r WHERE r.resource = 'products' AND r.product_id = 0 AND r.unanswered_at IS NOT NULL) l
  CROSS JOIN _target q
  CROSS JOIN _product_text t
  CROSS JOIN _product p ON p.product_id = t.product_id
  WHERE q.resource = 'products' AND p.withdrawn_at IS NULL
  GROUP BY q.resource, q.tier
  UNION ALL
  SELECT q.resource, q.tier, count(*),
    COALESCE(sum(n.now >= p.images_verified_at + q.target_ms AND n.now < p.images_verified_at + 1209600000), 0),
    sum(n.now >= p.images_verified_at + 1209600000 OR n.now < p.images_verified_at - 86400000),
    min(p.images_verified_at), q.target_ms
  FROM (SELECT unixepoch()*1000 AS now) n
  CROSS JOIN _target q
  CROSS JOIN _product p
  -- Where no read has ever told of images there is nothing to hide.
  WHERE q.resource = 'images' AND p.withdrawn_at IS NULL AND p.images_verified_at IS NOT NULL
  GROUP BY q.resource, q.tier
  UNION ALL
  SELECT q.resource, q.tier, count(*),
    count(*) - COALESCE(sum(n.now < CASE q.resource WHEN 'availability' THEN max(r.stale_at, r.fetched_at + q.target_ms) ELSE r.stale_at END
      AND r.unanswered_at IS NULL AND (r.off_sale_at IS NULL OR NOT EXISTS (SELECT 1 FROM _product p WHERE p.product_id = r.product_id AND p.sellable = 1))), 0),
    -- What is off sale is read once a week, whatever the target of its dates.
    0, COALESCE(min(CASE WHEN r.off_sale_at IS NULL THEN COALESCE(r.fetched_at, 0) END), min(r.fetched_at)), q.target_ms
  FROM (SELECT unixepoch()*1000 AS now) n
  CROSS JOIN _target q
  CROSS JOIN _record r ON r.resource = q.resource AND r.part BETWEEN q.first_part AND q.last_part
  WHERE q.resource NOT IN ('products', 'images')
  GROUP BY q.resource, q.tier
);

CREATE VIEW product_prices AS
SELECT x.*, CAST(CASE WHEN x.shut = 0 THEN x.lowest_price END AS INTEGER) AS lowest_price,
  CAST(CASE WHEN x.shut = 0 THEN x.lowest_adult_price END AS INTEGER) AS lowest_adult_price,
  CAST(CASE WHEN x.shut = 0 THEN x.price_variant_type END AS TEXT) AS price_variant_type,
  CAST(unixepoch()*1000 >= x.shown_stale_at AS INTEGER) AS stale,
  CAST(CASE WHEN unixepoch()*1000 >= x.expired_at THEN 'expired' WHEN unixepoch()*1000 >= x.shown_stale_at THEN 'stale' ELSE 'fresh' END AS TEXT) AS freshness
FROM price x
WHERE x.from_at <= unixepoch()*1000 AND x.until_at > unixepoch()*1000 AND x.shut < 3 AND x.checked_at IS NOT NULL;

CREATE VIEW search_rows AS
SELECT s.product_search AS entry, CAST(s.rank AS REAL) AS rank, CAST(s.product_id AS INTEGER) AS product_id, CAST(s.language AS TEXT) AS language,
  CAST(s.title AS TEXT) AS title, CAST(s.tagline AS TEXT) AS tagline, CAST(s.summary AS TEXT) AS summary,
  CAST(s.city AS TEXT) AS city, CAST(s.venue AS TEXT) AS venue
FROM product_search s;

CREATE VIEW place_rows AS
SELECT l.*, CAST(l.x AS REAL) AS x, CAST(l.y AS REAL) AS y, CAST(l.z AS REAL) AS z
FROM product_places l;

-- Now is unixepoch('now') here: what halves in 30 days may halve a minute later in an answer that a cache keeps, which
-- asks unixepoch() alone how long it may (src/daemon/reading/views-clock.ts).
CREATE VIEW product_popularity AS
SELECT product_id, sellable, city_id, country_id, rating,
  CAST(0.5 * min(max(COALESCE(rating, 3.0), 0.0), 5.0) / 5.0 + 0.5 * (1.0 - 10.0 / (10.0 + recent)) AS REAL) AS popularity,
  list_place, rating_count, weighed_rating, CAST(recent AS INTEGER) AS recent_sales, CAST(recent_asked AS INTEGER) AS recent_checks,
  -- Ten checks count as a sale. Most products have neither, and what halves them is not even asked: a broad search orders all by it.
  CAST(max(1, COALESCE(list_place, 10001 - 2 * weighed_rating) >> CASE WHEN sold + asked / 10 < 1 OR recent + recent_asked / 10 < 1 THEN 0
    WHEN recent + recent_asked / 10 < 2 THEN 1 WHEN recent + recent_asked / 10 < 4 THEN 2 WHEN recent + recent_asked / 10 < 8 THEN 3
    WHEN recent + recent_asked / 10 < 16 THEN 4 WHEN recent + recent_asked / 10 < 32 THEN 5 WHEN recent + recent_asked / 10 < 64 THEN 6
    WHEN recent + recent_asked / 10 < 128 THEN 7 WHEN recent + recent_asked / 10 < 256 THEN 8
    WHEN recent + recent_asked / 10 < 512 THEN 9 ELSE 10 END) AS INTEGER) AS place
FROM (
  SELECT p.product_id, p.sellable, p.city_id, p.country_id, p.rating, p.rating_count, p.sold, p.asked, l.list_place,
    CAST(round(1000 * (40.0 + min(max(COALESCE(p.rating, 4.0), 0.0), 5.0) * CASE WHEN p.rating IS NULL THEN 0 ELSE COALESCE(p.rating_count, 10) END)
      / (10.0 + CASE WHEN p.rating IS NULL THEN 0 ELSE COALESCE(p.rating_count, 10) END)) AS INTEGER) AS weighed_rating,
    p.sold / (1 << CAST(min(max(unixepoch('now')*1000 - COALESCE(p.sold_at, 0), 0.0) / 2592000000.0, 60.0) AS INTEGER)) AS recent,
    p.asked / (1 << CAST(min(max(unixepoch('now')*1000 - COALESCE(p.asked_at, 0), 0.0) / 2592000000.0, 60.0) AS INTEGER)) AS recent_asked
  FROM _product p
  LEFT JOIN _product_list_place l ON l.product_id = p.product_id
  WHERE p.withdrawn_at IS NULL
);

CREATE VIEW bookable_days AS
SELECT d.*, w.checked_at, CAST(unixepoch()*1000 >= w.shown_stale_at AS INTEGER) AS stale, w.expired_at,
  CAST(CASE WHEN unixepoch()*1000 >= w.expired_at THEN 'expired' WHEN unixepoch()*1000 >= w.shown_stale_at THEN 'stale' ELSE 'fresh' END AS TEXT) AS freshness
FROM day d
CROSS JOIN date_window w ON w.window_id = d.window_id
WHERE d.state = 'available' AND w.shut = 0 AND d.from_at <= unixepoch()*1000 AND d.until_at > unixepoch()*1000;

CREATE VIEW availability_days AS
SELECT d.*, CAST(CASE WHEN w.shut THEN 'not_on_sale' ELSE d.state END AS TEXT) AS state,
  CAST(CASE WHEN d.counted_until_at > unixepoch()*1000 THEN d.availability ELSE
    (SELECT sum(json_extract(t.value, '$[2]')) FROM slot_day s CROSS JOIN json_each(s.slots) t
    WHERE s.product_id = d.product_id AND s.currency = d.currency AND s.date = d.date AND json_extract(t.value, '$[1]') > unixepoch()*1000)
  END AS INTEGER) AS availability, w.max_tickets_per_order, w.checked_at,
  CAST(unixepoch()*1000 >= w.shown_stale_at AS INTEGER) AS stale, w.expired_at,
  CAST(CASE WHEN unixepoch()*1000 >= w.expired_at THEN 'expired' WHEN unixepoch()*1000 >= w.shown_stale_at THEN 'stale' ELSE 'fresh' END AS TEXT) AS freshness
FROM day d
CROSS JOIN date_window w ON w.window_id = d.window_id
WHERE w.shut < 3 AND d.from_at <= unixepoch()*1000 AND d.until_at > unixepoch()*1000;

CREATE VIEW availability_slots AS
SELECT s.*, CAST(json_extract(t.value, '$[0]') AS TEXT) AS time,
  CAST(json_extract(o.value, '$[0]') AS INTEGER) AS variant_id,
  CAST(json_extract(t.value, '$[2]') AS INTEGER) AS availability,
  CAST(json_extract(o.value, '$[1]') AS INTEGER) AS max_tickets,
  CAST(json_extract(o.value, '$[2]') AS INTEGER) AS retail_price,
  CAST(json_extract(o.value, '$[3]') AS INTEGER) AS ticket_value,
  CAST(json_extract(o.value, '$[4]') AS INTEGER) AS booking_fee,
  CAST(json_extract(o.value, '$[5]') AS INTEGER) AS commission,
  CAST(json_extract(o.value, '$[6]') AS INTEGER) AS pricing_restriction,
  w.checked_at, CAST(unixepoch()*1000 >= w.shown_stale_at AS INTEGER) AS stale, w.expired_at,
  CAST(CASE WHEN unixepoch()*1000 >= w.expired_at THEN 'expired' WHEN unixepoch()*1000 >= w.shown_stale_at THEN 'stale' ELSE 'fresh' END AS TEXT) AS freshness
FROM slot_day s
CROSS JOIN day d ON d.product_id = s.product_id AND d.currency = s.currency AND d.date = s.date AND d.from_at = 0
CROSS JOIN date_window w ON w.window_id = d.window_id
CROSS JOIN json_each(s.slots) t
CROSS JOIN json_each(t.value, '$[3]') o
WHERE w.shut < 3 AND json_extract(t.value, '$[1]') > unixepoch()*1000;

-- Titles are those of the list, which is walked in the primary language; places are named in each.
CREATE VIEW experiences AS
SELECT e.*, l.language, m.language AS language_shown, CAST(COALESCE(e.title, t.venue_name) AS TEXT) AS title,
  CAST(COALESCE(e.path || '-', '') || e.experience_id AS TEXT) AS slug,
  CAST(COALESCE(e.address, t.venue_address) AS TEXT) AS address,
  v.city_id, CAST(COALESCE(t.city_name, e.city_name) AS TEXT) AS city_name,
  v.country_id, CAST(COALESCE(t.country_name, e.country_name) AS TEXT) AS country_name,
  CAST(COALESCE(e.latitude, v.latitude) AS REAL) AS latitude, CAST(COALESCE(e.longitude, v.longitude) AS REAL) AS longitude,
  CAST(CASE WHEN e.currency = m.currency THEN e.from_price END AS INTEGER) AS from_price, m.currency,
  CAST((SELECT count(*) FROM product_experiences x WHERE x.experience_id = e.experience_id) AS INTEGER) AS products,
  CAST((SELECT count(*) FROM product_experiences x CROSS JOIN _product p ON p.product_id = x.product_id
    WHERE x.experience_id = e.experience_id AND p.sellable = 1) AS INTEGER) AS sellable_products,
  CAST(unixepoch()*1000 >= e.stale_at AS INTEGER) AS stale, CAST(4 * e.stale_at - 3 * e.checked_at AS INTEGER) AS expired_at,
  CAST(CASE WHEN unixepoch()*1000 >= 4 * e.stale_at - 3 * e.checked_at THEN 'expired'
    WHEN unixepoch()*1000 >= e.stale_at THEN 'stale' ELSE 'fresh' END AS TEXT) AS freshness
FROM _experience e
CROSS JOIN _mirror m
CROSS JOIN languages l
LEFT JOIN _product v ON v.product_id = (SELECT min(p.product_id) FROM _product p WHERE p.venue_id = e.experience_id AND p.withdrawn_at IS NULL)
LEFT JOIN product t ON t.product_id = v.product_id AND t.language = l.language;

-- Named in each language; where the list in that language does not name it, in the primary one.
CREATE VIEW tags AS
SELECT t.*, l.language, t.language AS language_shown,
  CAST(unixepoch()*1000 >= t.stale_at AS INTEGER) AS stale, CAST(4 * t.stale_at - 3 * t.checked_at AS INTEGER) AS expired_at,
  CAST(CASE WHEN unixepoch()*1000 >= 4 * t.stale_at - 3 * t.checked_at THEN 'expired'
    WHEN unixepoch()*1000 >= t.stale_at THEN 'stale' ELSE 'fresh' END AS TEXT) AS freshness
FROM _mirror m
CROSS JOIN languages l
CROSS JOIN _tag k ON k.language = m.language
CROSS JOIN _tag t ON t.tag_id = k.tag_id AND t.language = COALESCE((SELECT x.language FROM _tag x
  WHERE x.tag_id = k.tag_id AND x.language = l.language AND x.name IS NOT NULL), m.language);

-- A city that products put into several countries is in that of most of them, of equally many the one with the smaller id.
CREATE VIEW cities AS
SELECT c.city_id, l.language, n.city_name AS name, CAST(COALESCE(n.city_path || '-', '') || c.city_id AS TEXT) AS slug, c.country_id, CAST(c.products AS INTEGER) AS products, CAST(c.sellable_products AS INTEGER) AS sellable_products
FROM (
  SELECT city_id, country_id, max(n * 4294967296 - COALESCE(country_id, 4294967295)), sum(n) AS products, sum(s) AS sellable_products
  FROM (SELECT country_id, city_id, count(*) AS n, sum(sellable) AS s FROM _product WHERE withdrawn_at IS NULL GROUP BY country_id, city_id)
  WHERE city_id IS NOT NULL
  GROUP BY city_id
) c
CROSS JOIN _mirror m
CROSS JOIN languages l
LEFT JOIN _product_text n ON n.rowid = COALESCE(
  (SELECT t.rowid FROM _product p CROSS JOIN _product_text t ON t.product_id = p.product_id AND t.language = l.language
    WHERE p.city_id = c.city_id AND p.withdrawn_at IS NULL AND t.city_name IS NOT NULL ORDER BY p.product_id LIMIT 1),
  (SELECT t.rowid FROM _product p CROSS JOIN _product_text t ON t.product_id = p.product_id AND t.language = m.language
    WHERE p.city_id = c.city_id AND p.withdrawn_at IS NULL AND t.city_name IS NOT NULL ORDER BY p.product_id LIMIT 1));

CREATE VIEW countries AS
SELECT c.country_id, l.language,
  CAST(COALESCE((SELECT t.country_name FROM _product p CROSS JOIN _product_text t ON t.product_id = p.product_id AND t.language = l.language
    WHERE p.country_id = c.country_id AND p.withdrawn_at IS NULL AND t.country_name IS NOT NULL ORDER BY p.product_id LIMIT 1),
    (SELECT t.country_name FROM _product p CROSS JOIN _product_text t ON t.product_id = p.product_id AND t.language = m.language
    WHERE p.country_id = c.country_id AND p.withdrawn_at IS NULL AND t.country_name IS NOT NULL ORDER BY p.product_id LIMIT 1)) AS TEXT) AS name,
  CAST(c.products AS INTEGER) AS products, CAST(c.sellable_products AS INTEGER) AS sellable_products
FROM (
  SELECT country_id, count(*) AS products, sum(sellable) AS sellable_products
  FROM _product WHERE withdrawn_at IS NULL AND country_id IS NOT NULL GROUP BY country_id
) c
CROSS JOIN _mirror m
CROSS JOIN languages l;
