-- The views for storefronts in PostgreSQL: names, columns and rows are those of schema/mirror/views.sql, where each is explained;
-- a test compares whole views.

CREATE VIEW withdrawn_products AS
SELECT p.product_id, t.title,
  CASE json_typeof(COALESCE(t.merged_document, t.detail_document, t.list_document)::json -> 'product_slug') WHEN 'string'
    THEN NULLIF(COALESCE(t.merged_document, t.detail_document, t.list_document)::json ->> 'product_slug', '') END AS slug, p.city_id, t.city_name,
  COALESCE(
    (SELECT a.product_id FROM _product a WHERE a.product_id = p.alternative_product_id AND a.sellable = 1),
    (SELECT v.product_id FROM _product v LEFT JOIN _product_read l ON l.product_id = v.product_id
      WHERE v.venue_id = p.venue_id AND v.withdrawn_at IS NULL AND v.sellable = 1
      ORDER BY l.list_place NULLS LAST, v.product_id LIMIT 1)) AS successor_product_id,
  p.withdrawn_at, p.withdrawn_reason AS reason
FROM _product p
CROSS JOIN _mirror m
LEFT JOIN _product_text t ON t.product_id = p.product_id AND t.language = m.language
WHERE p.withdrawn_at IS NOT NULL;

CREATE VIEW changes AS
SELECT c.*
FROM _change c;

CREATE VIEW subscriptions AS
SELECT s.subscription_id, s.type, s.status,
  CASE WHEN s.type <> 'products_i_sell'
    THEN (SELECT count(*) FROM _subscription_product c WHERE c.subscription_id = s.subscription_id) END AS covered_products,
  s.last_delivery_at,
  CASE WHEN s.announceable > 0 THEN s.announced / s.announceable END AS trust
FROM _subscription s
WHERE s.declared_id IS NOT NULL;

CREATE VIEW images AS
SELECT i.*, i.product_id, r.images_verified_at AS verified_at, r.images_verified_at + 1209600000 AS expires_at
FROM image i
JOIN _product p ON p.product_id = i.product_id
JOIN _product_read r ON r.product_id = i.product_id
WHERE p.withdrawn_at IS NULL
  AND i.withdrawn_at IS NULL
  AND (i.doubted_at IS NULL OR i.doubted_at < r.images_verified_at)
  AND _now() >= r.images_verified_at - 86400000
  AND _now() + 999 < r.images_verified_at + 1209600000;

CREATE VIEW experience_images AS
SELECT e.*, (i.value ->> 0)::bigint AS position, i.value ->> 1 AS image_key,
  i.value -> 3 ->> 'small' AS small_url, i.value -> 3 ->> 'medium' AS medium_url, i.value -> 3 ->> 'large' AS large_url,
  i.value -> 3 ->> 'extra_large' AS extra_large_url, i.value -> 3 ->> 'alt_text' AS alt_text, i.value ->> 2 AS credit,
  e.images_verified_at AS verified_at, e.images_verified_at + 1209600000 AS expires_at, i.value ->> 3 AS document
FROM _experience e
CROSS JOIN _elements(e.images::json) i (value)
WHERE _now() >= e.images_verified_at - 86400000 AND _now() + 999 < e.images_verified_at + 1209600000;

CREATE VIEW availability_error_rate AS
SELECT product_id, tier, sum(checks)::bigint AS checks, sum(wrong)::bigint AS wrong,
  sum(orders)::bigint AS orders, sum(orders_wrong)::bigint AS orders_wrong,
  (sum(wrong) + sum(orders_wrong))::double precision / NULLIF(sum(checks) + sum(orders), 0)::double precision AS rate,
  sum(said_available)::bigint AS said_available, sum(said_sold_out)::bigint AS said_sold_out,
  sum(said_price)::bigint AS said_price, sum(tickets)::bigint AS tickets,
  sum(unknown)::bigint AS unknown, sum(unanswered)::bigint AS unanswered,
  min(day) * 86400000 AS since_at
FROM _check_count
GROUP BY product_id, tier;

CREATE VIEW products AS
SELECT p.*, p.product_id, p.language, p.currency, x.from_price, CASE WHEN x.shut = 0 THEN x.lowest_price END AS lowest_price,
  CASE WHEN x.shut = 0 THEN x.lowest_adult_price END AS lowest_adult_price,
  CASE WHEN x.shut = 0 THEN x.price_variant_type END AS price_variant_type, x.prediscount_price,
  COALESCE(p.city_path || '-', '') || p.city_id AS city_slug,
  left(_wall_clock(_now() / 1000.0, CASE WHEN _now() >= p.offset_until_at THEN p.next_utc_offset ELSE p.utc_offset END), 10) AS venue_today,
  _is_stale(r.shown_stale_at) AS stale,
  CASE WHEN _now() >= r.expired_at THEN 'expired' WHEN _now() >= r.shown_stale_at THEN 'stale' ELSE 'fresh' END AS freshness,
  CASE WHEN _now() >= r.detail_read_at + 4 * p.detail_target_ms THEN 'expired'
    WHEN _now() >= r.detail_read_at + p.detail_target_ms THEN 'stale'
    WHEN r.detail_read_at + p.detail_target_ms IS NULL THEN 'unknown' ELSE 'fresh' END AS detail_freshness
FROM product p
LEFT JOIN _text_read r ON r.product_id = p.product_id AND r.language = p.read_language
LEFT JOIN price x ON x.product_id = p.product_id AND x.currency = p.currency AND x.from_at <= _now() AND x.until_at > _now();

CREATE VIEW checkout_information AS
SELECT c.*, _is_stale(COALESCE(c.held_at, c.stale_at)) AS stale, _expired_at(c.checked_at, c.stale_at, c.held_at) AS expired_at,
  _freshness(c.checked_at, c.stale_at, c.held_at) AS freshness
FROM checkout c
WHERE c.shown = 1;

CREATE VIEW variants AS
SELECT v.*, v.product_id, l.language, v.language AS language_shown,
  CASE WHEN v.variants_document IS NULL THEN 'availability' ELSE 'variants' END AS source,
  CASE WHEN v.group_ids IS NOT NULL THEN (
    SELECT CASE WHEN count(g.name) > 0 THEN '[' || string_agg(COALESCE(to_json(g.name)::text, 'null'), ',' ORDER BY e.ordinality) || ']' END
    FROM json_array_elements_text(v.group_ids::json) WITH ORDINALITY e
    LEFT JOIN _variant_group g ON g.product_id = v.product_id AND g.group_id = e.value::bigint) END AS group_names,
  COALESCE(v.merged_document, v.variants_document, v.availability_document) AS document,
  v.read_at AS checked_at, _is_stale(v.shown_stale_at) AS stale,
  CASE WHEN _now() >= v.expired_at THEN 'expired' WHEN _now() >= v.shown_stale_at THEN 'stale' ELSE 'fresh' END AS freshness
FROM (
  SELECT *, checked_at AS read_at, COALESCE(held_at, stale_at) AS shown_stale_at, _expired_at(checked_at, stale_at, held_at) AS expired_at
  FROM _variant
  WHERE variants_document IS NOT NULL
  UNION ALL
  SELECT n.*, s.*
  FROM _variant n
  JOIN LATERAL (
    SELECT max(s.checked_at), max(COALESCE(s.held_at, s.stale_at)), max(s.expired_at)
    FROM date_window s
    CROSS JOIN json_array_elements_text(s.variant_ids::json) i
    WHERE s.product_id = n.product_id AND i.value = n.variant_id::text
    HAVING count(*) > 0
  ) s ON true
  WHERE n.variants_document IS NULL
) v
JOIN _product p ON p.product_id = v.product_id
CROSS JOIN _mirror m
CROSS JOIN languages l
WHERE p.withdrawn_at IS NULL AND v.language = COALESCE((SELECT x.language FROM _variant x
  WHERE x.product_id = v.product_id AND x.language = l.language AND x.variant_id = v.variant_id), m.language);

CREATE VIEW mirror_info AS
SELECT m.*, m.contract_version, m.schema_version, p.published_at
FROM _mirror m
CROSS JOIN _published p;

CREATE VIEW freshness AS
SELECT resource, NULLIF(tier, '') AS tier, records, records - stale - expired AS fresh, stale, expired,
  oldest_checked_at, target_ms, _number(stale + expired = 0) AS met
FROM (
  -- A list that leaves out products counts as a record that is not fresh: nobody knows them.
  SELECT q.resource, q.tier, count(*) + max(l.short) AS records, count(*) FILTER (WHERE _now() >= t.stale_at) + max(l.short) AS stale,
    0::bigint AS expired, min(t.checked_at) AS oldest_checked_at, q.target_ms
  FROM (SELECT count(*) AS short FROM _record r WHERE r.resource = 'products' AND r.product_id = 0 AND r.unanswered_at IS NOT NULL) l
  CROSS JOIN _target q
  CROSS JOIN _text_read t
  JOIN _product p ON p.product_id = t.product_id
  WHERE q.resource = 'products' AND p.withdrawn_at IS NULL
  GROUP BY q.resource, q.tier
  UNION ALL
  SELECT q.resource, q.tier, count(*),
    count(*) FILTER (WHERE _now() >= r.images_verified_at + q.target_ms AND _now() < r.images_verified_at + 1209600000),
    count(*) FILTER (WHERE _now() >= r.images_verified_at + 1209600000 OR _now() < r.images_verified_at - 86400000),
    min(r.images_verified_at), q.target_ms
  FROM _target q
  CROSS JOIN _product_read r
  JOIN _product p ON p.product_id = r.product_id
  WHERE q.resource = 'images' AND p.withdrawn_at IS NULL AND r.images_verified_at IS NOT NULL
  GROUP BY q.resource, q.tier
  UNION ALL
  SELECT q.resource, q.tier, count(*),
    count(*) - count(*) FILTER (WHERE
      _now() < CASE WHEN q.resource <> 'availability' THEN r.stale_at WHEN r.fetched_at IS NOT NULL THEN greatest(r.stale_at, r.fetched_at + q.target_ms) END
      AND r.unanswered_at IS NULL
      AND (r.off_sale_at IS NULL OR NOT EXISTS (SELECT 1 FROM _product p WHERE p.product_id = r.product_id AND p.sellable = 1))),
    -- What is off sale is read once a week, whatever the target of its dates.
    0, COALESCE(min(CASE WHEN r.off_sale_at IS NULL THEN COALESCE(r.fetched_at, 0) END), min(r.fetched_at)), q.target_ms
  FROM _target q
  JOIN _record r ON r.resource = q.resource AND r.part BETWEEN q.first_part AND q.last_part
  WHERE q.resource NOT IN ('products', 'images')
  GROUP BY q.resource, q.tier
) f;

CREATE VIEW product_prices AS
SELECT x.*, x.product_id, x.currency, CASE WHEN x.shut = 0 THEN x.lowest_price END AS lowest_price,
  CASE WHEN x.shut = 0 THEN x.lowest_adult_price END AS lowest_adult_price,
  CASE WHEN x.shut = 0 THEN x.price_variant_type END AS price_variant_type, _is_stale(r.shown_stale_at) AS stale,
  CASE WHEN _now() >= r.expired_at THEN 'expired' WHEN _now() >= r.shown_stale_at THEN 'stale' ELSE 'fresh' END AS freshness
FROM price x
JOIN _price_read r ON r.product_id = x.product_id AND r.currency = x.currency
WHERE x.from_at <= _now() AND x.until_at > _now() AND x.shut < 3;

CREATE VIEW product_popularity AS
SELECT product_id, sellable, city_id, country_id, rating,
  0.5::double precision * least(greatest(COALESCE(rating, 3), 0), 5) / 5 + 0.5::double precision * (1 - 10 / (10 + recent)) AS popularity,
  list_place, rating_count, weighed_rating, trunc(recent)::bigint AS recent_sales, trunc(recent_asked)::bigint AS recent_checks,
  greatest(1, COALESCE(list_place, 10001 - 2 * weighed_rating) >> CASE WHEN sold + asked / 10 < 1 OR recent + recent_asked / 10 < 1 THEN 0
    WHEN recent + recent_asked / 10 < 2 THEN 1 WHEN recent + recent_asked / 10 < 4 THEN 2 WHEN recent + recent_asked / 10 < 8 THEN 3
    WHEN recent + recent_asked / 10 < 16 THEN 4 WHEN recent + recent_asked / 10 < 32 THEN 5 WHEN recent + recent_asked / 10 < 64 THEN 6
    WHEN recent + recent_asked / 10 < 128 THEN 7 WHEN recent + recent_asked / 10 < 256 THEN 8
    WHEN recent + recent_asked / 10 < 512 THEN 9 ELSE 10 END) AS place
FROM (
  SELECT p.product_id, p.sellable, p.city_id, p.country_id, p.rating, p.rating_count, p.weighed_rating, p.sold, p.asked, l.list_place,
    p.sold / (1::bigint << trunc(least(greatest(_now() - COALESCE(p.sold_at, 0), 0) / 2592000000.0, 60))::int) AS recent,
    p.asked / (1::bigint << trunc(least(greatest(_now() - COALESCE(p.asked_at, 0), 0) / 2592000000.0, 60))::int) AS recent_asked
  FROM _product p
  LEFT JOIN _product_read l ON l.product_id = p.product_id
  WHERE p.withdrawn_at IS NULL
) r;

CREATE VIEW bookable_days AS
SELECT d.*, d.product_id, d.currency, w.checked_at, _is_stale(w.shown_stale_at) AS stale, w.expired_at,
  CASE WHEN _now() >= w.expired_at THEN 'expired' WHEN _now() >= w.shown_stale_at THEN 'stale' ELSE 'fresh' END AS freshness
FROM day d
JOIN date_window w ON w.window_id = d.window_id
WHERE d.state = 'available' AND w.shut = 0 AND d.from_at <= _now() AND d.until_at > _now();

CREATE VIEW availability_days AS
SELECT d.*, d.product_id, d.currency, CASE WHEN w.shut > 0 THEN 'not_on_sale' ELSE d.state END AS state,
  CASE WHEN d.counted_until_at > _now() THEN d.availability ELSE
    (SELECT sum((t.value ->> 1)::bigint)::bigint FROM slot_day s CROSS JOIN _elements(s.slots::json) WITH ORDINALITY t (value, place)
    WHERE s.product_id = d.product_id AND s.currency = d.currency AND s.date = d.date AND _slot_ends(s.zero_at, s.ends, t.place, t.value) > _now())
  END AS availability, w.max_tickets_per_order,
  w.checked_at, _is_stale(w.shown_stale_at) AS stale, w.expired_at,
  CASE WHEN _now() >= w.expired_at THEN 'expired' WHEN _now() >= w.shown_stale_at THEN 'stale' ELSE 'fresh' END AS freshness
FROM day d
JOIN date_window w ON w.window_id = d.window_id
WHERE w.shut < 3 AND d.from_at <= _now() AND d.until_at > _now();

CREATE VIEW availability_slots AS
SELECT s.*, s.product_id, s.currency, s.date,
  CASE WHEN json_typeof(t.value -> 0) = 'string' THEN t.value ->> 0 WHEN t.value ->> 0 = '1440' THEN 'whole_day'
    ELSE lpad(((t.value ->> 0)::int / 60)::text, 2, '0') || ':' || lpad(((t.value ->> 0)::int % 60)::text, 2, '0') END AS time,
  (o.value ->> 0)::bigint AS variant_id,
  (t.value ->> 1)::bigint AS availability,
  (o.value ->> 1)::bigint AS max_tickets,
  (o.value ->> 2)::bigint AS retail_price,
  (o.value ->> 3)::bigint AS ticket_value,
  (o.value ->> 4)::bigint AS booking_fee,
  (o.value ->> 5)::bigint AS commission,
  (o.value ->> 6)::bigint AS pricing_restriction,
  w.checked_at, _is_stale(w.shown_stale_at) AS stale, w.expired_at,
  CASE WHEN _now() >= w.expired_at THEN 'expired' WHEN _now() >= w.shown_stale_at THEN 'stale' ELSE 'fresh' END AS freshness
FROM slot_day s
JOIN day d ON d.product_id = s.product_id AND d.currency = s.currency AND d.date = s.date AND d.from_at = 0
JOIN date_window w ON w.window_id = d.window_id
CROSS JOIN _elements(s.slots::json) WITH ORDINALITY t (value, place)
CROSS JOIN _elements(CASE json_typeof(t.value -> 2) WHEN 'number' THEN s.slots::json -> (t.value ->> 2)::int -> 2 ELSE t.value -> 2 END) o (value)
WHERE w.shut < 3 AND _slot_ends(s.zero_at, s.ends, t.place, t.value) > _now();

CREATE VIEW experiences AS
SELECT e.*, e.tagline, e.description, e.url, e.rating, e.rating_count, e.checked_at, e.changed_at, e.document, l.language, m.language AS language_shown, COALESCE(e.title, t.venue_name) AS title,
  COALESCE(e.path || '-', '') || e.experience_id AS slug, COALESCE(e.address, t.venue_address) AS address,
  v.city_id, COALESCE(t.city_name, e.city_name) AS city_name, v.country_id, COALESCE(t.country_name, e.country_name) AS country_name,
  COALESCE(e.latitude, v.latitude) AS latitude, COALESCE(e.longitude, v.longitude) AS longitude,
  CASE WHEN e.currency = m.currency THEN e.from_price END AS from_price, m.currency, n.products, n.sellable_products,
  _is_stale(e.stale_at) AS stale, _expired_at(e.checked_at, e.stale_at) AS expired_at, _freshness(e.checked_at, e.stale_at) AS freshness
FROM _experience e
CROSS JOIN _mirror m
CROSS JOIN languages l
CROSS JOIN LATERAL (
  SELECT count(*) AS products, count(*) FILTER (WHERE p.sellable = 1) AS sellable_products
  FROM product_experiences x
  JOIN _product p ON p.product_id = x.product_id
  WHERE x.experience_id = e.experience_id
) n
LEFT JOIN _product v ON v.product_id = (SELECT min(p.product_id) FROM _product p WHERE p.venue_id = e.experience_id AND p.withdrawn_at IS NULL)
LEFT JOIN product t ON t.product_id = v.product_id AND t.language = l.language;

CREATE VIEW tags AS
SELECT t.*, t.tag_id, t.name, t.type_name, t.type_group_name, t.checked_at, t.changed_at, t.document, l.language, t.language AS language_shown,
  _is_stale(t.stale_at) AS stale, _expired_at(t.checked_at, t.stale_at) AS expired_at, _freshness(t.checked_at, t.stale_at) AS freshness
FROM _mirror m
CROSS JOIN languages l
JOIN _tag k ON k.language = m.language
JOIN _tag t ON t.tag_id = k.tag_id AND t.language = COALESCE((SELECT x.language FROM _tag x
  WHERE x.tag_id = k.tag_id AND x.language = l.language AND x.name IS NOT NULL), m.language);

CREATE VIEW cities AS
SELECT c.city_id, l.language, n.city_name AS name, COALESCE(n.city_path || '-', '') || c.city_id AS slug, c.country_id, c.products::bigint AS products, c.sellable_products::bigint AS sellable_products
FROM (
  SELECT DISTINCT ON (city_id) city_id, country_id,
    sum(n) OVER (PARTITION BY city_id) AS products, sum(s) OVER (PARTITION BY city_id) AS sellable_products
  FROM (SELECT country_id, city_id, count(*) AS n, sum(sellable) AS s FROM _product
    WHERE withdrawn_at IS NULL AND city_id IS NOT NULL GROUP BY country_id, city_id) o
  ORDER BY city_id, n DESC, country_id
) c
CROSS JOIN _mirror m
CROSS JOIN languages l
LEFT JOIN LATERAL (
  SELECT t.city_name, t.city_path
  FROM _product p
  JOIN _product_text t ON t.product_id = p.product_id AND t.language IN (l.language, m.language)
  WHERE p.city_id = c.city_id AND p.withdrawn_at IS NULL AND t.city_name IS NOT NULL
  ORDER BY t.language <> l.language, p.product_id LIMIT 1
) n ON true;

CREATE VIEW countries AS
SELECT c.country_id, l.language,
  COALESCE((SELECT t.country_name FROM _product p JOIN _product_text t ON t.product_id = p.product_id AND t.language = l.language
    WHERE p.country_id = c.country_id AND p.withdrawn_at IS NULL AND t.country_name IS NOT NULL ORDER BY p.product_id LIMIT 1),
    (SELECT t.country_name FROM _product p JOIN _product_text t ON t.product_id = p.product_id AND t.language = m.language
    WHERE p.country_id = c.country_id AND p.withdrawn_at IS NULL AND t.country_name IS NOT NULL ORDER BY p.product_id LIMIT 1)) AS name,
  c.products, c.sellable_products::bigint AS sellable_products
FROM (
  SELECT country_id, count(*) AS products, sum(sellable) AS sellable_products
  FROM _product WHERE withdrawn_at IS NULL AND country_id IS NOT NULL GROUP BY country_id
) c
CROSS JOIN _mirror m
CROSS JOIN languages l;
