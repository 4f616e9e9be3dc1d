-- The views for storefronts, as they stand: the contract of schema/contract.json. They are made anew, in this order, whenever
-- a file's own differ (src/kernel/sqlite/database-file.ts), so a change of a view is a change here and needs no numbered step.
--
-- `p.*` at the beginning stands for the columns that src/mirror/contract declares and the view does not list
-- (src/kernel/sqlite/view-columns.ts): all come in the order of the declaration.
--
-- Every new connection parses all of it. So a column has the name of its table only where two tables of the view have the column, or
-- where a subquery means the one outside: `p.title` costs three times as much as `title`, here and in each statement that reads the view.
--
-- Nothing newer than SQLite 3.38. A comment has a line of its own: a file gets each view as one line, and drizzle-kit
-- wants a SELECT at its beginning. A column that is an expression is CAST to its type, so that it compares as it; one of a
-- table stands bare, as it would lose its index. Now is unixepoch()*1000, written where it is needed: it is up to a second late, and
-- a hard limit adds that second. Of a subquery the index would lose its order.

CREATE VIEW withdrawn_products AS
SELECT p.product_id, title,
  CAST((SELECT NULLIF(value, '') FROM json_each(COALESCE(merged_document, detail_document, list_document)) e
    WHERE key = 'product_slug' AND type = 'text') AS TEXT) AS slug, city_id, city_name,
  CAST(COALESCE(
    (SELECT product_id FROM _product a WHERE product_id = p.alternative_product_id AND sellable = 1),
    (SELECT v.product_id FROM _product v LEFT JOIN _product_read l ON l.product_id = v.product_id
      WHERE venue_id = p.venue_id AND withdrawn_at IS NULL AND sellable = 1
      ORDER BY list_place IS NULL, list_place, v.product_id LIMIT 1)) AS INTEGER) AS successor_product_id,
  withdrawn_at, withdrawn_reason AS reason
FROM _product p
CROSS JOIN _mirror m
LEFT JOIN _product_text t ON t.product_id = p.product_id AND t.language = m.language
WHERE withdrawn_at IS NOT NULL;

CREATE VIEW changes AS
SELECT c.*
FROM _change c WHERE seq <= coalesce((SELECT last_seq FROM _row_feed), 9223372036854775807);

CREATE VIEW subscriptions AS
SELECT subscription_id, type, status,
  CAST(CASE WHEN type <> 'products_i_sell'
    THEN (SELECT count(*) FROM _subscription_product c WHERE subscription_id = s.subscription_id) END AS INTEGER) AS covered_products,
  last_delivery_at,
  CAST(CASE WHEN announceable > 0 THEN CAST(announced AS REAL) / announceable END AS REAL) AS trust
FROM _subscription s
WHERE declared_id IS NOT NULL;

CREATE VIEW images AS
SELECT i.*, i.product_id, images_verified_at AS verified_at, CAST(images_verified_at + 1209600000 AS INTEGER) AS expires_at
FROM image i
JOIN _product p ON p.product_id = i.product_id
JOIN _product_read r ON r.product_id = i.product_id
WHERE p.withdrawn_at IS NULL
  AND i.withdrawn_at IS NULL
  AND (doubted_at IS NULL OR doubted_at < images_verified_at)
  AND unixepoch()*1000 >= images_verified_at - 86400000
  AND unixepoch()*1000 + 999 < images_verified_at + 1209600000;

CREATE VIEW experience_images AS
SELECT e.*, CAST(json_extract(value, '$[0]') AS INTEGER) AS position, CAST(json_extract(value, '$[1]') AS TEXT) AS image_key,
  CAST(json_extract(value, '$[3].small') AS TEXT) AS small_url, CAST(json_extract(value, '$[3].medium') AS TEXT) AS medium_url,
  CAST(json_extract(value, '$[3].large') AS TEXT) AS large_url, CAST(json_extract(value, '$[3].extra_large') AS TEXT) AS extra_large_url,
  CAST(json_extract(value, '$[3].alt_text') AS TEXT) AS alt_text, CAST(json_extract(value, '$[2]') AS TEXT) AS credit,
  images_verified_at AS verified_at, CAST(images_verified_at + 1209600000 AS INTEGER) AS expires_at,
  CAST(json_extract(value, '$[3]') AS TEXT) AS document
FROM _experience e
CROSS JOIN json_each(images) i
WHERE unixepoch()*1000 >= images_verified_at - 86400000
  AND unixepoch()*1000 + 999 < images_verified_at + 1209600000;

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
SELECT p.*, p.product_id, p.language, p.currency, from_price, CAST(CASE WHEN shut = 0 THEN lowest_price END AS INTEGER) AS lowest_price,
  CAST(CASE WHEN shut = 0 THEN lowest_adult_price END AS INTEGER) AS lowest_adult_price,
  CAST(CASE WHEN shut = 0 THEN price_variant_type END AS TEXT) AS price_variant_type, prediscount_price,
  CAST(COALESCE(city_path || '-', '') || city_id AS TEXT) AS city_slug,
  CAST(date(unixepoch() + 60 * CASE WHEN unixepoch()*1000 >= offset_until_at THEN next_utc_offset ELSE utc_offset END, 'unixepoch') AS TEXT) AS venue_today,
  CAST(unixepoch()*1000 >= shown_stale_at AS INTEGER) AS stale,
  CAST(CASE WHEN unixepoch()*1000 >= expired_at THEN 'expired' WHEN unixepoch()*1000 >= shown_stale_at THEN 'stale' ELSE 'fresh' END AS TEXT) AS freshness,
  CAST(CASE WHEN unixepoch()*1000 >= detail_read_at + 4 * detail_target_ms THEN 'expired'
    WHEN unixepoch()*1000 >= detail_read_at + detail_target_ms THEN 'stale'
    WHEN detail_read_at + detail_target_ms IS NULL THEN 'unknown' ELSE 'fresh' END AS TEXT) AS detail_freshness
FROM product p
LEFT JOIN _text_read r ON r.product_id = p.product_id AND r.language = read_language
LEFT JOIN price x ON x.product_id = p.product_id AND x.currency = p.currency
  AND from_at <= unixepoch()*1000 AND until_at > unixepoch()*1000;

CREATE VIEW checkout_information AS
SELECT c.*, CAST(unixepoch()*1000 >= COALESCE(held_at, stale_at) AS INTEGER) AS stale,
  CAST(4 * stale_at - 4 * checked_at + COALESCE(held_at, checked_at) AS INTEGER) AS expired_at,
  CAST(CASE WHEN unixepoch()*1000 >= 4 * stale_at - 4 * checked_at + COALESCE(held_at, checked_at) THEN 'expired'
    WHEN unixepoch()*1000 >= COALESCE(held_at, stale_at) THEN 'stale' ELSE 'fresh' END AS TEXT) AS freshness
FROM checkout c
WHERE shown = 1;

-- What only availability has named is as new as the newest window that names it.
CREATE VIEW variants AS
SELECT v.*, v.product_id, l.language, v.language AS language_shown,
  CAST(CASE WHEN variants_document IS NULL THEN 'availability' ELSE 'variants' END AS TEXT) AS source,
  CAST(CASE WHEN group_ids IS NOT NULL THEN (SELECT CASE WHEN count(name) > 0 THEN json_group_array(name) END FROM json_each(group_ids) e
    LEFT JOIN _variant_group g ON product_id = v.product_id AND group_id = value) END AS TEXT) AS group_names,
  CAST(COALESCE(merged_document, variants_document, availability_document) AS TEXT) AS document,
  CAST(v.read_at AS INTEGER) AS checked_at, CAST(unixepoch()*1000 >= shown_stale_at AS INTEGER) AS stale, CAST(expired_at AS INTEGER) AS expired_at,
  CAST(CASE WHEN unixepoch()*1000 >= expired_at THEN 'expired' WHEN unixepoch()*1000 >= shown_stale_at THEN 'stale' ELSE 'fresh' END AS TEXT) AS freshness
FROM (
  SELECT *, checked_at AS read_at, COALESCE(held_at, stale_at) AS shown_stale_at,
    4 * stale_at - 4 * checked_at + COALESCE(held_at, checked_at) AS expired_at
  FROM _variant
  WHERE variants_document IS NOT NULL
  UNION ALL
  SELECT n.*, max(s.checked_at), max(COALESCE(s.held_at, s.stale_at)), max(expired_at)
  FROM _variant n
  JOIN date_window s ON s.product_id = n.product_id
  JOIN json_each(variant_ids) i ON value = variant_id
  WHERE variants_document IS NULL
  GROUP BY n.product_id, language, variant_id
) v
JOIN _product p ON p.product_id = v.product_id
CROSS JOIN _mirror m
CROSS JOIN languages l
WHERE withdrawn_at IS NULL AND v.language = COALESCE((SELECT language FROM _variant x
  WHERE product_id = v.product_id AND language = l.language AND variant_id = v.variant_id), m.language);

CREATE VIEW mirror_info AS
SELECT m.*, CAST((SELECT published_at FROM _followed f WHERE followed_id = 1) AS INTEGER) AS published_at
FROM _mirror m;

CREATE VIEW freshness AS
SELECT resource, CAST(NULLIF(tier, '') AS TEXT) AS tier, CAST(records AS INTEGER) AS records,
  CAST(records - stale - expired AS INTEGER) AS fresh, CAST(stale AS INTEGER) AS stale, CAST(expired AS INTEGER) AS expired,
  CAST(oldest_checked_at AS INTEGER) AS oldest_checked_at, target_ms, CAST(stale + expired = 0 AS INTEGER) AS met
FROM (
  -- A list that leaves out products counts as a record that is not fresh: nobody knows them.
  SELECT resource, tier, count(*) + max(short) AS records, sum(now >= stale_at) + max(short) AS stale, 0 AS expired,
    min(checked_at) AS oldest_checked_at, target_ms
  FROM (SELECT unixepoch()*1000 AS now) n
  CROSS JOIN (SELECT count(*) AS short FROM _record r WHERE resource = 'products' AND product_id = 0 AND unanswered_at IS NOT NULL) l
  CROSS JOIN _target q
  CROSS JOIN _text_read t
  CROSS JOIN _product p ON p.product_id = t.product_id
  WHERE resource = 'products' AND withdrawn_at IS NULL
  GROUP BY resource, tier
  UNION ALL
  SELECT resource, tier, count(*),
    COALESCE(sum(now >= images_verified_at + target_ms AND now < images_verified_at + 1209600000), 0),
    sum(now >= images_verified_at + 1209600000 OR now < images_verified_at - 86400000),
    min(images_verified_at), target_ms
  FROM (SELECT unixepoch()*1000 AS now) n
  CROSS JOIN _target q
  CROSS JOIN _product_read r
  CROSS JOIN _product p ON p.product_id = r.product_id
  -- Where no read has ever told of images there is nothing to hide.
  WHERE resource = 'images' AND withdrawn_at IS NULL AND images_verified_at IS NOT NULL
  GROUP BY resource, tier
  UNION ALL
  SELECT q.resource, tier, count(*),
    count(*) - COALESCE(sum(now < CASE q.resource WHEN 'availability' THEN max(stale_at, fetched_at + target_ms) ELSE stale_at END
      AND unanswered_at IS NULL AND (off_sale_at IS NULL OR NOT EXISTS (SELECT 1 FROM _product p WHERE product_id = r.product_id AND sellable = 1))), 0),
    -- What is off sale is read once a week, whatever the target of its dates.
    0, COALESCE(min(CASE WHEN off_sale_at IS NULL THEN COALESCE(fetched_at, 0) END), min(fetched_at)), target_ms
  FROM (SELECT unixepoch()*1000 AS now) n
  CROSS JOIN _target q
  CROSS JOIN _record r ON r.resource = q.resource AND part BETWEEN first_part AND last_part
  WHERE q.resource NOT IN ('products', 'images')
  GROUP BY q.resource, tier
);

CREATE VIEW product_prices AS
SELECT x.*, x.product_id, x.currency, CAST(CASE WHEN shut = 0 THEN lowest_price END AS INTEGER) AS lowest_price,
  CAST(CASE WHEN shut = 0 THEN lowest_adult_price END AS INTEGER) AS lowest_adult_price,
  CAST(CASE WHEN shut = 0 THEN price_variant_type END AS TEXT) AS price_variant_type,
  CAST(unixepoch()*1000 >= shown_stale_at AS INTEGER) AS stale,
  CAST(CASE WHEN unixepoch()*1000 >= expired_at THEN 'expired' WHEN unixepoch()*1000 >= shown_stale_at THEN 'stale' ELSE 'fresh' END AS TEXT) AS freshness
FROM price x
CROSS JOIN _price_read r ON r.product_id = x.product_id AND r.currency = x.currency
WHERE from_at <= unixepoch()*1000 AND until_at > unixepoch()*1000 AND shut < 3;

-- Now is unixepoch('now') here: what halves in 30 days may halve a minute later in an answer that a cache keeps, which
-- asks unixepoch() alone how long it may (src/daemon/reading/views-clock.ts).
CREATE VIEW product_popularity AS
SELECT product_id, sellable, city_id, country_id, rating,
  CAST(0.5 * min(max(COALESCE(rating, 3.0), 0.0), 5.0) / 5.0 + 0.5 * (1.0 - 10.0 / (10.0 + recent)) AS REAL) AS popularity,
  list_place, rating_count, weighed_rating, CAST(recent AS INTEGER) AS recent_sales, CAST(recent_asked AS INTEGER) AS recent_checks,
  -- Ten checks count as a sale. Most products have neither, and what halves them is not even asked: a broad search orders all by it.
  CAST(max(1, COALESCE(list_place, 10001 - 2 * weighed_rating) >> CASE WHEN sold + asked / 10 < 1 THEN 0
    ELSE (sales >= 1) + (sales >= 2) + (sales >= 4) + (sales >= 8) + (sales >= 16) + (sales >= 32) + (sales >= 64) + (sales >= 128)
      + (sales >= 256) + (sales >= 512) END) AS INTEGER) AS place
FROM (
  SELECT *, recent + recent_asked / 10 AS sales
  FROM (
    SELECT p.product_id, sellable, city_id, country_id, rating, rating_count, weighed_rating, sold, asked, list_place,
      sold / (1 << CAST(min(max(unixepoch('now')*1000 - COALESCE(sold_at, 0), 0.0) / 2592000000.0, 60.0) AS INTEGER)) AS recent,
      asked / (1 << CAST(min(max(unixepoch('now')*1000 - COALESCE(asked_at, 0), 0.0) / 2592000000.0, 60.0) AS INTEGER)) AS recent_asked
    FROM _product p
    LEFT JOIN _product_read l ON l.product_id = p.product_id
    WHERE withdrawn_at IS NULL
  )
);

CREATE VIEW bookable_days AS
SELECT d.*, d.product_id, d.currency, checked_at, CAST(unixepoch()*1000 >= shown_stale_at AS INTEGER) AS stale, expired_at,
  CAST(CASE WHEN unixepoch()*1000 >= expired_at THEN 'expired' WHEN unixepoch()*1000 >= shown_stale_at THEN 'stale' ELSE 'fresh' END AS TEXT) AS freshness
FROM day d
CROSS JOIN date_window w ON w.window_id = d.window_id
WHERE state = 'available' AND shut = 0 AND from_at <= unixepoch()*1000 AND until_at > unixepoch()*1000;

CREATE VIEW availability_days AS
SELECT d.*, d.product_id, d.currency, CAST(CASE WHEN shut THEN 'not_on_sale' ELSE state END AS TEXT) AS state,
  CAST(CASE WHEN counted_until_at > unixepoch()*1000 THEN availability ELSE
    (SELECT sum(value ->> 1) FROM slot_day s CROSS JOIN json_each(slots) t
    WHERE product_id = d.product_id AND currency = d.currency AND date = d.date
      AND COALESCE(ends ->> key, zero_at + 60000 * CASE typeof(value ->> 0) WHEN 'text' THEN 1440 ELSE value ->> 0 END) > unixepoch()*1000)
  END AS INTEGER) AS availability, max_tickets_per_order, checked_at,
  CAST(unixepoch()*1000 >= shown_stale_at AS INTEGER) AS stale, expired_at,
  CAST(CASE WHEN unixepoch()*1000 >= expired_at THEN 'expired' WHEN unixepoch()*1000 >= shown_stale_at THEN 'stale' ELSE 'fresh' END AS TEXT) AS freshness
FROM day d
CROSS JOIN date_window w ON w.window_id = d.window_id
WHERE shut < 3 AND from_at <= unixepoch()*1000 AND until_at > unixepoch()*1000;

CREATE VIEW availability_slots AS
SELECT s.*, s.product_id, s.currency, s.date,
  CAST(CASE WHEN typeof(t.value ->> 0) = 'text' THEN t.value ->> 0 WHEN t.value ->> 0 = 1440 THEN 'whole_day'
    ELSE printf('%02d:%02d', (t.value ->> 0) / 60, (t.value ->> 0) % 60) END AS TEXT) AS time,
  CAST(o.value ->> 0 AS INTEGER) AS variant_id, CAST(t.value ->> 1 AS INTEGER) AS availability,
  CAST(o.value ->> 1 AS INTEGER) AS max_tickets, CAST(o.value ->> 2 AS INTEGER) AS retail_price,
  CAST(o.value ->> 3 AS INTEGER) AS ticket_value, CAST(o.value ->> 4 AS INTEGER) AS booking_fee,
  CAST(o.value ->> 5 AS INTEGER) AS commission, CAST(o.value ->> 6 AS INTEGER) AS pricing_restriction,
  checked_at, CAST(unixepoch()*1000 >= shown_stale_at AS INTEGER) AS stale, expired_at,
  CAST(CASE WHEN unixepoch()*1000 >= expired_at THEN 'expired' WHEN unixepoch()*1000 >= shown_stale_at THEN 'stale' ELSE 'fresh' END AS TEXT) AS freshness
FROM slot_day s
CROSS JOIN day d ON d.product_id = s.product_id AND d.currency = s.currency AND d.date = s.date AND from_at = 0
CROSS JOIN date_window w ON w.window_id = d.window_id
CROSS JOIN json_each(slots) t
CROSS JOIN json_each(CASE typeof(t.value ->> 2) WHEN 'integer' THEN slots -> ('$[' || (t.value ->> 2) || '][2]') ELSE t.value -> 2 END) o
WHERE shut < 3
  AND COALESCE(ends ->> t.key, zero_at + 60000 * CASE typeof(t.value ->> 0) WHEN 'text' THEN 1440 ELSE t.value ->> 0 END) > unixepoch()*1000;

-- Titles are those of the list, which is walked in the primary language; places are named in each.
CREATE VIEW experiences AS
SELECT e.*, e.tagline, e.description, e.url, e.rating, e.rating_count, e.checked_at, e.changed_at, e.document, l.language, m.language AS language_shown, CAST(COALESCE(e.title, venue_name) AS TEXT) AS title,
  CAST(COALESCE(path || '-', '') || experience_id AS TEXT) AS slug,
  CAST(COALESCE(address, venue_address) AS TEXT) AS address,
  v.city_id, CAST(COALESCE(t.city_name, e.city_name) AS TEXT) AS city_name,
  v.country_id, CAST(COALESCE(t.country_name, e.country_name) AS TEXT) AS country_name,
  CAST(COALESCE(e.latitude, v.latitude) AS REAL) AS latitude, CAST(COALESCE(e.longitude, v.longitude) AS REAL) AS longitude,
  CAST(CASE WHEN e.currency = m.currency THEN from_price END AS INTEGER) AS from_price, m.currency,
  CAST((SELECT count(*) FROM product_experiences x WHERE experience_id = e.experience_id) AS INTEGER) AS products,
  CAST((SELECT count(*) FROM product_experiences x CROSS JOIN _product p ON p.product_id = x.product_id
    WHERE experience_id = e.experience_id AND sellable = 1) AS INTEGER) AS sellable_products,
  CAST(unixepoch()*1000 >= e.stale_at AS INTEGER) AS stale, CAST(4 * e.stale_at - 3 * e.checked_at AS INTEGER) AS expired_at,
  CAST(CASE WHEN unixepoch()*1000 >= 4 * e.stale_at - 3 * e.checked_at THEN 'expired'
    WHEN unixepoch()*1000 >= e.stale_at THEN 'stale' ELSE 'fresh' END AS TEXT) AS freshness
FROM _experience e
CROSS JOIN _mirror m
CROSS JOIN languages l
LEFT JOIN _product v ON v.product_id = (SELECT min(product_id) FROM _product p WHERE venue_id = experience_id AND withdrawn_at IS NULL)
LEFT JOIN product t ON t.product_id = v.product_id AND t.language = l.language;

-- Named in each language; where the list in that language does not name it, in the primary one.
CREATE VIEW tags AS
SELECT t.*, t.tag_id, t.name, t.type_name, t.type_group_name, t.checked_at, t.changed_at, t.document, l.language, t.language AS language_shown,
  CAST(unixepoch()*1000 >= t.stale_at AS INTEGER) AS stale, CAST(4 * t.stale_at - 3 * t.checked_at AS INTEGER) AS expired_at,
  CAST(CASE WHEN unixepoch()*1000 >= 4 * t.stale_at - 3 * t.checked_at THEN 'expired'
    WHEN unixepoch()*1000 >= t.stale_at THEN 'stale' ELSE 'fresh' END AS TEXT) AS freshness
FROM _mirror m
CROSS JOIN languages l
CROSS JOIN _tag k ON k.language = m.language
CROSS JOIN _tag t ON t.tag_id = k.tag_id AND t.language = COALESCE((SELECT language FROM _tag x
  WHERE tag_id = k.tag_id AND language = l.language AND name IS NOT NULL), m.language);

-- A city that products put into several countries is in that of most of them, of equally many the one with the smaller id.
CREATE VIEW cities AS
SELECT city_id, l.language, city_name AS name, CAST(COALESCE(city_path || '-', '') || city_id AS TEXT) AS slug, country_id, CAST(products AS INTEGER) AS products, CAST(sellable_products AS INTEGER) AS sellable_products
FROM (
  SELECT city_id, country_id, max(n * 4294967296 - COALESCE(country_id, 4294967295)), sum(n) AS products, sum(s) AS sellable_products
  FROM (SELECT country_id, city_id, count(*) AS n, sum(sellable) AS s FROM _product WHERE withdrawn_at IS NULL GROUP BY country_id, city_id)
  WHERE city_id IS NOT NULL
  GROUP BY city_id
) c
CROSS JOIN _mirror m
CROSS JOIN languages l
LEFT JOIN _product_text n ON n.rowid = COALESCE(
  (SELECT t.rowid FROM _product p CROSS JOIN _product_text t ON t.product_id = p.product_id AND language = l.language
    WHERE city_id = c.city_id AND withdrawn_at IS NULL AND city_name IS NOT NULL ORDER BY p.product_id LIMIT 1),
  (SELECT t.rowid FROM _product p CROSS JOIN _product_text t ON t.product_id = p.product_id AND language = m.language
    WHERE city_id = c.city_id AND withdrawn_at IS NULL AND city_name IS NOT NULL ORDER BY p.product_id LIMIT 1));

CREATE VIEW countries AS
SELECT country_id, l.language,
  CAST(COALESCE((SELECT country_name FROM _product p CROSS JOIN _product_text t ON t.product_id = p.product_id AND language = l.language
    WHERE country_id = c.country_id AND withdrawn_at IS NULL AND country_name IS NOT NULL ORDER BY p.product_id LIMIT 1),
    (SELECT country_name FROM _product p CROSS JOIN _product_text t ON t.product_id = p.product_id AND language = m.language
    WHERE country_id = c.country_id AND withdrawn_at IS NULL AND country_name IS NOT NULL ORDER BY p.product_id LIMIT 1)) AS TEXT) AS name,
  CAST(products AS INTEGER) AS products, CAST(sellable_products AS INTEGER) AS sellable_products
FROM (
  SELECT country_id, count(*) AS products, sum(sellable) AS sellable_products
  FROM _product WHERE withdrawn_at IS NULL AND country_id IS NOT NULL GROUP BY country_id
) c
CROSS JOIN _mirror m
CROSS JOIN languages l;
