-- The views for storefronts, as they stand: the contract of schema/contract.json. They are made anew, in this order, whenever
-- a file's own differ (src/sqlite/database-file.ts), so a change of a view is a change here and needs no numbered step.
--
-- Nothing newer than SQLite 3.38. A comment has a line of its own: a file gets each view as one line, and drizzle-kit
-- wants a SELECT at its beginning. A column that is an expression is CAST to its type, so that it compares as it; one of a
-- table stands bare, as it would lose its index. Now is unixepoch()*1000, written where it is needed: it is up to a second late, and
-- a hard limit adds that second. Of a subquery the index would lose its order.

CREATE VIEW withdrawn_products AS
SELECT p.product_id, t.title, t.slug, p.city_id, t.city_name,
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

CREATE VIEW product_tags AS
SELECT g.product_id, g.tag_id
FROM _product_tag g
JOIN _product p ON p.product_id = g.product_id
WHERE p.withdrawn_at IS NULL;

CREATE VIEW product_experiences AS
SELECT x.product_id, x.experience_id
FROM _product_experience x
JOIN _product p ON p.product_id = x.product_id
WHERE p.withdrawn_at IS NULL
UNION
SELECT p.product_id, p.venue_id
FROM _product p
WHERE p.withdrawn_at IS NULL AND p.venue_id IS NOT NULL;

CREATE VIEW changes AS
SELECT seq, at, product_id, kind, language, date, detail
FROM _change WHERE seq <= coalesce((SELECT last_seq FROM _row_feed), 9223372036854775807);

CREATE VIEW subscriptions AS
SELECT s.subscription_id, s.type, s.status,
  CAST(CASE WHEN s.type <> 'products_i_sell'
    THEN (SELECT count(*) FROM _subscription_product c WHERE c.subscription_id = s.subscription_id) END AS INTEGER) AS covered_products,
  s.last_delivery_at,
  CAST(CASE WHEN s.announceable > 0 THEN CAST(s.announced AS REAL) / s.announceable END AS REAL) AS trust
FROM _subscription s
WHERE s.declared_id IS NOT NULL;

CREATE VIEW images AS
SELECT i.product_id, i.position, i.image_key,
  CAST(json_extract(i.document, '$.small') AS TEXT) AS small_url,
  CAST(json_extract(i.document, '$.medium') AS TEXT) AS medium_url,
  CAST(json_extract(i.document, '$.large') AS TEXT) AS large_url,
  CAST(json_extract(i.document, '$.extra_large') AS TEXT) AS extra_large_url,
  CAST(json_extract(i.document, '$.alt_text') AS TEXT) AS alt_text,
  i.credit,
  (SELECT f.file FROM _image_file f, _mirror m
    WHERE f.product_id = i.product_id AND f.image_key = i.image_key AND f.size = m.image_size) AS file,
  p.images_verified_at AS verified_at, CAST(p.images_verified_at + 1209600000 AS INTEGER) AS expires_at, i.document
FROM _image i
JOIN _product p ON p.product_id = i.product_id
WHERE p.withdrawn_at IS NULL
  AND i.withdrawn_at IS NULL
  AND (i.doubted_at IS NULL OR i.doubted_at < p.images_verified_at)
  AND unixepoch()*1000 >= p.images_verified_at - 86400000
  AND unixepoch()*1000 + 999 < p.images_verified_at + 1209600000;

CREATE VIEW languages AS
SELECT l.language, CAST(l.language = m.language AS INTEGER) AS is_primary
FROM _mirror_language l
CROSS JOIN _mirror m;

CREATE VIEW currencies AS
SELECT CAST(currency AS TEXT) AS currency, CAST(max(is_primary) AS INTEGER) AS is_primary,
  -- ISO 4217, as src/domain/values/money.ts has it: a test holds the two equal.
  CAST(CASE WHEN currency IN ('BIF', 'CLP', 'DJF', 'GNF', 'ISK', 'JPY', 'KMF', 'KRW', 'PYG', 'RWF', 'UGX', 'UYI', 'VND', 'VUV', 'XAF', 'XOF', 'XPF') THEN 0
    WHEN currency IN ('BHD', 'IQD', 'JOD', 'KWD', 'LYD', 'OMR', 'TND') THEN 3 WHEN currency IN ('CLF', 'UYW') THEN 4 ELSE 2 END AS INTEGER) AS exponent
FROM (
  SELECT m.currency, 1 AS is_primary FROM _mirror m WHERE m.currency IS NOT NULL
  UNION ALL
  SELECT substr(r.edition, instr(r.edition, '/') + 1), 0 FROM _record r WHERE r.resource = 'products' AND r.product_id = 0
)
GROUP BY currency;

CREATE VIEW alternatives AS
SELECT product_id, alternative_product_id
FROM (
  WITH RECURSIVE recommended (product_id, candidate_id, depth) AS (
    SELECT p.product_id, p.alternative_product_id, 1
    FROM _product p
    WHERE p.alternative_product_id IS NOT NULL AND p.withdrawn_at IS NULL AND p.sellable = 0 AND p.closure_unconfirmed = 0
    UNION ALL
    SELECT r.product_id, c.alternative_product_id, r.depth + 1
    FROM recommended r
    CROSS JOIN _product c ON c.product_id = r.candidate_id
    WHERE c.sellable = 0 AND +c.alternative_product_id IS NOT NULL AND r.depth < 8
  )
  SELECT r.product_id, r.candidate_id AS alternative_product_id
  FROM recommended r
  CROSS JOIN _product a ON a.product_id = r.candidate_id
  WHERE a.sellable = 1 AND r.candidate_id <> r.product_id
);

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

-- A row in each mirrored language: where a product has no text in it, that of the primary language, or else of any.
CREATE VIEW products AS
SELECT p.product_id, l.language, CAST(COALESCE(t.text_language, t.language) AS TEXT) AS language_shown, t.title, t.tagline, p.sale_status, p.sellable, p.disabled_reason, p.disabled_source,
  p.expected_reopening, p.alternative_product_id,
  (SELECT c.from_price FROM _product_price c WHERE c.product_id = p.product_id AND c.currency = m.currency) AS from_price,
  r.lowest_price, r.lowest_adult_price, r.price_variant_type,
  m.currency, p.city_id, t.city_name, p.country_id, t.country_name, p.venue_id, p.latitude, p.longitude, p.timezone, p.rating,
  p.rating_count,
  (SELECT c.prediscount_price FROM _product_price c WHERE c.product_id = p.product_id AND c.currency = m.currency) AS prediscount_price,
  t.slug, t.url, t.summary, t.description, t.duration, t.languages, t.cancellation_policy, t.cancellation_window, t.supplier,
  t.venue_name, t.venue_address,
  CAST((SELECT date(unixepoch() + z.offset_minutes * 60, 'unixepoch') FROM _zone_offset z
    WHERE z.timezone = p.timezone AND z.valid_from <= unixepoch()*1000
    ORDER BY z.valid_from DESC LIMIT 1) AS TEXT) AS venue_today,
  t.wheelchair_access, t.is_package,
  CAST(COALESCE(t.merged_document, t.detail_document, t.list_document) AS TEXT) AS document,
  t.checked_at, t.changed_at,
  CAST(unixepoch()*1000 >= COALESCE(t.held_at, t.stale_at) AS INTEGER) AS stale,
  CAST(4 * t.stale_at - 4 * t.checked_at + COALESCE(t.held_at, t.checked_at) AS INTEGER) AS expired_at,
  CAST(CASE WHEN unixepoch()*1000 >= 4 * t.stale_at - 4 * t.checked_at + COALESCE(t.held_at, t.checked_at) THEN 'expired'
    WHEN unixepoch()*1000 >= COALESCE(t.held_at, t.stale_at) THEN 'stale' ELSE 'fresh' END AS TEXT) AS freshness,
  CAST(COALESCE((SELECT CASE WHEN unixepoch()*1000 >= t.detail_read_at + 4 * q.promise_ms THEN 'expired'
      WHEN unixepoch()*1000 >= t.detail_read_at + q.promise_ms THEN 'stale' ELSE 'fresh' END
    FROM _promise q WHERE q.resource = 'product_detail' AND t.detail_read_at IS NOT NULL), 'unknown') AS TEXT) AS detail_freshness
FROM _product p
CROSS JOIN _mirror m
CROSS JOIN _mirror_language l
CROSS JOIN _product_text t ON t.product_id = p.product_id AND t.language = COALESCE(
  (SELECT x.language FROM _product_text x WHERE x.product_id = p.product_id AND x.language = l.language AND x.title <> ''),
  (SELECT x.language FROM _product_text x WHERE x.product_id = p.product_id AND x.language = m.language),
  (SELECT min(x.language) FROM _product_text x WHERE x.product_id = p.product_id))
LEFT JOIN _printed_price r ON r.product_id = p.product_id AND r.currency = m.currency AND p.sellable = 1 AND p.dates_off_at IS NULL
  AND r.until_at = (SELECT min(n.until_at) FROM _printed_price n
    WHERE n.product_id = p.product_id AND n.currency = m.currency
      AND n.until_at > unixepoch()*1000)
WHERE p.withdrawn_at IS NULL;

CREATE VIEW checkout_information AS
SELECT c.product_id, l.language, c.language AS language_shown, c.has_timeslots, c.has_dynamic_pricing, c.must_know, c.good_to_know, c.document, c.checked_at,
  CAST(unixepoch()*1000 >= COALESCE(c.held_at, c.stale_at) AS INTEGER) AS stale,
  CAST(4 * c.stale_at - 4 * c.checked_at + COALESCE(c.held_at, c.checked_at) AS INTEGER) AS expired_at,
  CAST(CASE WHEN unixepoch()*1000 >= 4 * c.stale_at - 4 * c.checked_at + COALESCE(c.held_at, c.checked_at) THEN 'expired'
    WHEN unixepoch()*1000 >= COALESCE(c.held_at, c.stale_at) THEN 'stale' ELSE 'fresh' END AS TEXT) AS freshness
FROM _product p
CROSS JOIN _mirror m
CROSS JOIN _mirror_language l
CROSS JOIN _checkout_information_read c ON c.product_id = p.product_id AND c.language = COALESCE(
  (SELECT x.language FROM _checkout_information_read x WHERE x.product_id = p.product_id AND x.language = l.language), m.language)
WHERE p.withdrawn_at IS NULL;

CREATE VIEW variants AS
SELECT product_id, language, language_shown, variant_id, label, variant_type, source,
  CAST(CASE json_type(document, '$.valid_with_variant_ids') WHEN 'array'
    THEN (SELECT json_group_array(e.value) FROM json_each(document, '$.valid_with_variant_ids') e WHERE e.type = 'integer') END AS TEXT) AS valid_with,
  CAST(CASE json_type(document, '$.requires_visitors_details') WHEN 'array'
    THEN (SELECT json_group_array(e.value) FROM json_each(document, '$.requires_visitors_details') e WHERE e.type = 'text') END AS TEXT) AS visitors_details,
  CAST(CASE json_type(document, '$.group_ids') WHEN 'array'
    THEN (SELECT json_group_array(e.value) FROM json_each(document, '$.group_ids') e WHERE e.type = 'integer') END AS TEXT) AS group_ids,
  CAST(CASE json_type(document, '$.group_ids') WHEN 'array'
    THEN (SELECT CASE WHEN count(g.name) > 0 THEN json_group_array(g.name) END FROM json_each(document, '$.group_ids') e
      LEFT JOIN _variant_group g ON g.product_id = w.product_id AND g.group_id = e.value WHERE e.type = 'integer') END AS TEXT) AS group_names,
  document, checked_at,
  CAST(stale AS INTEGER) AS stale, CAST(expired_at AS INTEGER) AS expired_at, freshness
FROM (
  SELECT v.product_id, l.language, v.language AS language_shown, v.variant_id,
    CAST(COALESCE(json_extract(v.variants_document, '$.label'), json_extract(v.availability_document, '$.label')) AS TEXT) AS label,
    v.variant_type,
    CAST('variants' AS TEXT) AS source,
    CAST(COALESCE(v.merged_document, v.variants_document) AS TEXT) AS document,
    v.checked_at,
    unixepoch()*1000 >= COALESCE(v.held_at, v.stale_at) AS stale,
    4 * v.stale_at - 4 * v.checked_at + COALESCE(v.held_at, v.checked_at) AS expired_at,
    CAST(CASE WHEN unixepoch()*1000 >= 4 * v.stale_at - 4 * v.checked_at + COALESCE(v.held_at, v.checked_at) THEN 'expired'
      WHEN unixepoch()*1000 >= COALESCE(v.held_at, v.stale_at) THEN 'stale' ELSE 'fresh' END AS TEXT) AS freshness
  FROM _variant v
  JOIN _product p ON p.product_id = v.product_id
  CROSS JOIN _mirror m
  CROSS JOIN _mirror_language l
  WHERE p.withdrawn_at IS NULL AND v.variants_document IS NOT NULL AND v.language = COALESCE((SELECT x.language FROM _variant x
    WHERE x.product_id = v.product_id AND x.language = l.language AND x.variant_id = v.variant_id), m.language)
  UNION ALL
  SELECT v.product_id, l.language, v.language, v.variant_id,
    CAST(json_extract(v.availability_document, '$.label') AS TEXT),
    v.variant_type,
    CAST('availability' AS TEXT),
    v.availability_document,
    CAST(max(s.checked_at) AS INTEGER),
    unixepoch()*1000 >= max(COALESCE(s.held_at, s.stale_at)),
    max(4 * s.stale_at - 4 * s.checked_at + COALESCE(s.held_at, s.checked_at)),
    CAST(CASE WHEN unixepoch()*1000 >= max(4 * s.stale_at - 4 * s.checked_at + COALESCE(s.held_at, s.checked_at)) THEN 'expired'
      WHEN unixepoch()*1000 >= max(COALESCE(s.held_at, s.stale_at)) THEN 'stale' ELSE 'fresh' END AS TEXT)
  FROM _variant v
  JOIN _product p ON p.product_id = v.product_id
  JOIN _availability_span s ON s.product_id = v.product_id
  JOIN json_each(s.variant_ids) i ON i.value = v.variant_id
  CROSS JOIN _mirror m
  CROSS JOIN _mirror_language l
  WHERE p.withdrawn_at IS NULL AND v.variants_document IS NULL AND v.language = COALESCE((SELECT x.language FROM _variant x
    WHERE x.product_id = v.product_id AND x.language = l.language AND x.variant_id = v.variant_id), m.language)
  GROUP BY v.product_id, l.language, v.variant_id
) w;

CREATE VIEW policies AS
SELECT CAST(column1 AS TEXT) AS resource, CAST(column2 AS TEXT) AS state, CAST(column3 AS TEXT) AS action,
  CAST(column4 AS INTEGER) AS expires_after, CAST(column5 AS TEXT) AS reason
FROM (VALUES
  ('products', 'fresh', 'show', 4, 'titles and sale status are those of the last list, within its cadence'),
  ('products', 'stale', 'show', 4, 'a title seldom changes; a closure is announced, found by the next read, or held until it is certain'),
  ('products', 'expired', 'check_first', 4, 'nobody has seen it in the list for weeks: it may be gone or closed'),
  ('products', 'unknown', 'hide', 4, 'the service does not list it, or not any more'),
  ('product_prices', 'fresh', 'show_as_from', 4, 'lowest_adult_price, else from_price, which the list says: the chosen date has its own'),
  ('product_prices', 'stale', 'show_as_from', 4, 'it is an indication anyway, also while a move is held; the date that is chosen has its own price'),
  ('product_prices', 'expired', 'hide', 4, 'a price of weeks ago is advertising what may not exist'),
  ('product_prices', 'unknown', 'hide', 4, 'no price was sent, or none that is exact in this currency'),
  ('product_detail', 'fresh', 'show', 4, 'descriptions are those of the last read, within its cadence'),
  ('product_detail', 'stale', 'show', 4, 'texts change seldom, and an old one beats none'),
  ('product_detail', 'expired', 'hide', 4, 'what is said to be included may not be any more: the title stands without it'),
  ('product_detail', 'unknown', 'hide', 4, 'there is no description to show'),
  ('checkout_information', 'fresh', 'show', 4, 'what a customer must know is that of the last read, within its cadence'),
  ('checkout_information', 'stale', 'show', 4, 'it changes seldom, is kept while a loss is held, and must be shown before a sale in any case'),
  ('checkout_information', 'expired', 'check_first', 4, 'what must be shown before a sale may have changed: ask before one is made'),
  ('checkout_information', 'unknown', 'hide', 4, 'what must be shown before a sale is not known: offer none'),
  ('variants', 'fresh', 'show', 4, 'the options are those of the last read, within its cadence'),
  ('variants', 'stale', 'show', 4, 'options change less than monthly, or their loss is held; the dates say which of them are sold'),
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
  ('availability', 'stale', 'check_first', 4, 'it may have sold out or come back since, or is held: ask when a shopper picks it'),
  ('availability', 'expired', 'hide', 4, 'four reads in a row are missing: nobody knows, so it is neither available nor sold out'),
  ('availability', 'unknown', 'hide', 4, 'a date without a row was never read: it is neither available nor sold out'),
  ('day_prices', 'fresh', 'show', 4, 'lowest_adult_price of that date, and whose it is where no adult can buy, read in time'),
  ('day_prices', 'stale', 'show_as_from', 4, 'it may have changed since, or a move is held: the check before the order brings the amount'),
  ('day_prices', 'expired', 'hide', 4, 'too old to be quoted, even as from'),
  ('day_prices', 'unknown', 'hide', 4, 'sold out, or no price that is exact in this currency')) said;

CREATE VIEW mirror_info AS
SELECT contract_version, schema_version, written_by, feed_floor_seq, filled_at, feed_id,
  CAST((SELECT f.published_at FROM _followed f WHERE f.followed_id = 1) AS INTEGER) AS published_at
FROM _mirror;

CREATE VIEW freshness AS
SELECT resource, CAST(NULLIF(tier, '') AS TEXT) AS tier, CAST(records AS INTEGER) AS records,
  CAST(records - stale - expired AS INTEGER) AS fresh, CAST(stale AS INTEGER) AS stale, CAST(expired AS INTEGER) AS expired,
  CAST(oldest_checked_at AS INTEGER) AS oldest_checked_at, target_ms, CAST(stale + expired = 0 AS INTEGER) AS met
FROM (
  -- A list that leaves out products counts as a record that is not fresh: nobody knows them.
  SELECT q.resource, q.tier, count(*) + max(l.short) AS records, sum(n.now >= t.stale_at) + max(l.short) AS stale, 0 AS expired,
    min(t.checked_at) AS oldest_checked_at, q.promise_ms AS target_ms
  FROM (SELECT unixepoch()*1000 AS now) n
  CROSS JOIN (SELECT count(*) AS short FROM _record r WHERE r.resource = 'products' AND r.product_id = 0 AND r.unanswered_at IS NOT NULL) l
  CROSS JOIN _promise q
  CROSS JOIN _product_text t
  CROSS JOIN _product p ON p.product_id = t.product_id
  WHERE q.resource = 'products' AND p.withdrawn_at IS NULL
  GROUP BY q.resource, q.tier
  UNION ALL
  SELECT q.resource, q.tier, count(*),
    COALESCE(sum(n.now >= p.images_verified_at + q.promise_ms AND n.now < p.images_verified_at + 1209600000), 0),
    sum(n.now >= p.images_verified_at + 1209600000 OR n.now < p.images_verified_at - 86400000),
    min(p.images_verified_at), q.promise_ms
  FROM (SELECT unixepoch()*1000 AS now) n
  CROSS JOIN _promise q
  CROSS JOIN _product p
  -- Where no read has ever told of images there is nothing to hide.
  WHERE q.resource = 'images' AND p.withdrawn_at IS NULL AND p.images_verified_at IS NOT NULL
  GROUP BY q.resource, q.tier
  UNION ALL
  SELECT q.resource, q.tier, count(*),
    count(*) - COALESCE(sum(n.now < CASE q.resource WHEN 'availability' THEN max(r.stale_at, r.fetched_at + q.promise_ms) ELSE r.stale_at END
      AND r.unanswered_at IS NULL AND (r.off_sale_at IS NULL OR NOT EXISTS (SELECT 1 FROM _product p WHERE p.product_id = r.product_id AND p.sellable = 1))), 0),
    -- What is off sale is read once a week, whatever is promised of its dates.
    0, COALESCE(min(CASE WHEN r.off_sale_at IS NULL THEN COALESCE(r.fetched_at, 0) END), min(r.fetched_at)), q.promise_ms
  FROM (SELECT unixepoch()*1000 AS now) n
  CROSS JOIN _promise q
  CROSS JOIN _record r ON r.resource = q.resource AND r.part BETWEEN q.first_part AND q.last_part
  WHERE q.resource NOT IN ('products', 'images')
  GROUP BY q.resource, q.tier
);

CREATE VIEW product_prices AS
SELECT c.product_id, c.currency, c.from_price, r.lowest_price, r.lowest_adult_price, r.price_variant_type, c.prediscount_price,
  c.read_at AS checked_at,
  CAST(unixepoch()*1000 >= COALESCE(c.held_at, c.stale_at) AS INTEGER) AS stale,
  CAST(4 * c.stale_at - 4 * c.read_at + COALESCE(c.held_at, c.read_at) AS INTEGER) AS expired_at,
  CAST(CASE WHEN unixepoch()*1000 >= 4 * c.stale_at - 4 * c.read_at + COALESCE(c.held_at, c.read_at) THEN 'expired'
    WHEN unixepoch()*1000 >= COALESCE(c.held_at, c.stale_at) THEN 'stale' ELSE 'fresh' END AS TEXT) AS freshness
FROM _product_price c
JOIN _product p ON p.product_id = c.product_id
LEFT JOIN _printed_price r ON r.product_id = p.product_id AND r.currency = c.currency AND p.sellable = 1 AND p.dates_off_at IS NULL
  AND r.until_at = (SELECT min(n.until_at) FROM _printed_price n
    WHERE n.product_id = p.product_id AND n.currency = c.currency
      AND n.until_at > unixepoch()*1000)
WHERE p.withdrawn_at IS NULL;

CREATE VIEW search_words AS SELECT language, word, term, documents FROM _search_word;

CREATE VIEW search_deletes AS SELECT shorter, word FROM _search_delete;

CREATE VIEW search_letters AS SELECT letter, folded FROM _search_letter;

CREATE VIEW search_generic_words AS SELECT language, word FROM _search_generic_word;

CREATE VIEW search_entries AS
SELECT search_id, product_id, language, title, tagline, summary, city, country, venue FROM _search_entry;

CREATE VIEW search_rows AS
SELECT s.product_search AS entry, CAST(s.rank AS REAL) AS rank, CAST(s.product_id AS INTEGER) AS product_id, CAST(s.language AS TEXT) AS language,
  CAST(s.title AS TEXT) AS title, CAST(s.tagline AS TEXT) AS tagline, CAST(s.summary AS TEXT) AS summary,
  CAST(s.city AS TEXT) AS city, CAST(s.venue AS TEXT) AS venue
FROM product_search s;

CREATE VIEW place_rows AS
SELECT l.product_id, l.min_latitude, l.max_latitude, l.min_longitude, l.max_longitude,
  CAST(l.x AS REAL) AS x, CAST(l.y AS REAL) AS y, CAST(l.z AS REAL) AS z
FROM product_places l;

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
    p.sold / (1 << CAST(min(max(unixepoch()*1000 - COALESCE(p.sold_at, 0), 0.0) / 2592000000.0, 60.0) AS INTEGER)) AS recent,
    p.asked / (1 << CAST(min(max(unixepoch()*1000 - COALESCE(p.asked_at, 0), 0.0) / 2592000000.0, 60.0) AS INTEGER)) AS recent_asked
  FROM _product p
  LEFT JOIN _product_list_place l ON l.product_id = p.product_id
  WHERE p.withdrawn_at IS NULL
);

-- Spans of a product do not overlap: the one that covers a date is found by its ends.
CREATE VIEW bookable_days AS
SELECT b.product_id, b.date, b.currency, b.lowest_price, b.lowest_adult_price, b.price_variant_type, b.max_tickets, s.checked_at,
  CAST(unixepoch()*1000 >= COALESCE(s.held_at, s.stale_at) AS INTEGER) AS stale,
  CAST(4 * s.stale_at - 4 * s.checked_at + COALESCE(s.held_at, s.checked_at) AS INTEGER) AS expired_at,
  CAST(CASE WHEN unixepoch()*1000 >= 4 * s.stale_at - 4 * s.checked_at + COALESCE(s.held_at, s.checked_at) THEN 'expired'
    WHEN unixepoch()*1000 >= COALESCE(s.held_at, s.stale_at) THEN 'stale' ELSE 'fresh' END AS TEXT) AS freshness
FROM _bookable b
CROSS JOIN _product p ON p.product_id = b.product_id
CROSS JOIN _availability_span s ON s.product_id = b.product_id AND s.currency = b.currency
  AND s.from_date <= b.date AND s.to_date >= b.date
WHERE p.sellable = 1 AND p.dates_off_at IS NULL
  AND unixepoch()*1000 >= b.from_at AND unixepoch()*1000 < b.until_at;

-- A time that has begun at the venue is not sold any more. No venue's clock is more than 14 hours ahead: a date beyond that has
-- begun nowhere, and is shown as it was read. Of a nearer one what can still be bought stands in _bookable; its times are gone
-- through only where that is nothing, and to count their places. n: the venue's clock, where a span has a nearer date; where it
-- is put back within hours, no further than it will show twice.
-- A calendar is read span by span: date by date it takes twice as long. What is the same for all dates of a product (o) or of a
-- span (f) is found once for them.
CREATE VIEW availability_days AS
SELECT p.product_id, d.date, s.currency,
  CAST(CASE WHEN d.date > date('now', '+14 hours') THEN CASE WHEN d.available THEN o.open ELSE o.shut END
    WHEN (SELECT 1 FROM _bookable b WHERE b.product_id = d.product_id AND b.currency = d.currency AND b.date = d.date
    AND unixepoch()*1000 >= b.from_at AND unixepoch()*1000 < b.until_at) THEN o.open
    WHEN (
    SELECT min(u.passed)
    FROM (SELECT t.value, json_extract(t.value, '$[0]') BETWEEN 0 AND substr(n.value, 12, 2) * 60 + substr(n.value, 15, 2) AS passed FROM _day_document c CROSS JOIN json_each(c.document, '$[2]') t
      WHERE c.document_id = d.document_id AND d.date = substr(n.value, 1, 10)) u) THEN 'not_on_sale'
    ELSE o.shut END AS TEXT) AS state,
  CAST(CASE WHEN d.date > date('now', '+14 hours') THEN d.lowest_price ELSE (SELECT b.lowest_price FROM _bookable b WHERE b.product_id = d.product_id AND b.currency = d.currency AND b.date = d.date
    AND unixepoch()*1000 >= b.from_at AND unixepoch()*1000 < b.until_at) END AS INTEGER) AS lowest_price,
  CAST(CASE WHEN d.date > date('now', '+14 hours') THEN d.lowest_adult_price ELSE (SELECT b.lowest_adult_price FROM _bookable b WHERE b.product_id = d.product_id AND b.currency = d.currency AND b.date = d.date
    AND unixepoch()*1000 >= b.from_at AND unixepoch()*1000 < b.until_at) END AS INTEGER) AS lowest_adult_price,
  CAST(CASE WHEN d.date > date('now', '+14 hours') THEN d.price_variant_type ELSE (SELECT b.price_variant_type FROM _bookable b WHERE b.product_id = d.product_id AND b.currency = d.currency AND b.date = d.date
    AND unixepoch()*1000 >= b.from_at AND unixepoch()*1000 < b.until_at) END AS TEXT) AS price_variant_type,
  CAST(CASE WHEN d.date > date('now', '+14 hours') THEN d.max_tickets ELSE COALESCE((SELECT b.max_tickets FROM _bookable b WHERE b.product_id = d.product_id AND b.currency = d.currency AND b.date = d.date
    AND unixepoch()*1000 >= b.from_at AND unixepoch()*1000 < b.until_at), (
    SELECT CASE WHEN max(u.passed) THEN max(CASE WHEN NOT u.passed
      THEN (SELECT max(json_extract(o.value, '$[1]')) FROM json_each(u.value, '$[2]') o) END) ELSE d.max_tickets END
    FROM (SELECT t.value, json_extract(t.value, '$[0]') BETWEEN 0 AND substr(n.value, 12, 2) * 60 + substr(n.value, 15, 2) AS passed FROM _day_document c CROSS JOIN json_each(c.document, '$[2]') t
      WHERE c.document_id = d.document_id AND d.date = substr(n.value, 1, 10)) u)) END AS INTEGER) AS max_tickets,
  CAST(CASE WHEN d.date > date('now', '+14 hours') THEN d.availability ELSE (
    SELECT CASE WHEN max(u.passed) AND d.availability IS NOT 0
      THEN sum(CASE WHEN NOT u.passed THEN json_extract(u.value, '$[1]') END) ELSE d.availability END
    FROM (SELECT t.value, json_extract(t.value, '$[0]') BETWEEN 0 AND substr(n.value, 12, 2) * 60 + substr(n.value, 15, 2) AS passed FROM _day_document c CROSS JOIN json_each(c.document, '$[2]') t
      WHERE c.document_id = d.document_id AND d.date = substr(n.value, 1, 10)) u) END AS INTEGER) AS availability,
  s.max_tickets_per_order, s.checked_at, CAST(f.stale AS INTEGER) AS stale,
  CAST(4 * s.stale_at - 4 * s.checked_at + COALESCE(s.held_at, s.checked_at) AS INTEGER) AS expired_at, CAST(f.freshness AS TEXT) AS freshness
FROM _product p
CROSS JOIN (SELECT column1 AS off, column2 AS open, column3 AS shut
  FROM (VALUES (0, 'available', 'sold_out'), (1, 'not_on_sale', 'not_on_sale'))) o
  ON o.off = (p.sellable = 0 OR p.dates_off_at IS NOT NULL)
CROSS JOIN _availability_span s ON s.product_id = p.product_id
CROSS JOIN (SELECT column1 AS age, column2 AS stale, column3 AS freshness
  FROM (VALUES (0, 0, 'fresh'), (1, 1, 'stale'), (2, 1, 'expired'))) f
  ON f.age = CASE WHEN unixepoch()*1000 >= 4 * s.stale_at - 4 * s.checked_at + COALESCE(s.held_at, s.checked_at) THEN 2
    WHEN unixepoch()*1000 >= COALESCE(s.held_at, s.stale_at) OR (p.sellable = 1 AND p.dates_off_at IS NOT NULL) THEN 1 ELSE 0 END
LEFT JOIN json_each(CASE WHEN s.from_date <= date('now', '+14 hours') THEN json_array(COALESCE((
    SELECT strftime('%Y-%m-%d %H:%M', min(max(unixepoch(), z.valid_from / 1000.0 - 0.001) + z.offset_minutes * 60), 'unixepoch')
    FROM _zone_offset z
    WHERE z.timezone = COALESCE(p.timezone, '') AND z.valid_from >= (SELECT max(f.valid_from) FROM _zone_offset f
      WHERE f.timezone = COALESCE(p.timezone, '') AND f.valid_from <= unixepoch()*1000)),
  strftime('%Y-%m-%d %H:%M', 'now', '-12 hours'))) END) n
CROSS JOIN _day d ON d.product_id = s.product_id AND d.currency = s.currency AND d.date >= s.from_date AND d.date <= s.to_date
WHERE p.withdrawn_at IS NULL AND (d.date > date('now', '+14 hours') OR d.date >= substr(n.value, 1, 10));

CREATE VIEW availability_slots AS
SELECT d.product_id, d.date, d.currency,
  CAST(CASE WHEN typeof(json_extract(t.value, '$[0]')) = 'text' THEN json_extract(t.value, '$[0]')
    WHEN json_extract(t.value, '$[0]') < 0 THEN 'whole_day'
    ELSE printf('%02d:%02d', json_extract(t.value, '$[0]') / 60, json_extract(t.value, '$[0]') % 60) END AS TEXT) AS time,
  CAST(json_extract(o.value, '$[0]') AS INTEGER) AS variant_id,
  CAST(json_extract(t.value, '$[1]') AS INTEGER) AS availability,
  CAST(json_extract(o.value, '$[1]') AS INTEGER) AS max_tickets,
  CAST(json_extract(o.value, '$[2]') AS INTEGER) AS retail_price,
  CAST(json_extract(o.value, '$[3]') AS INTEGER) AS ticket_value,
  CAST(json_extract(o.value, '$[4]') AS INTEGER) AS booking_fee,
  CAST(json_extract(o.value, '$[5]') AS INTEGER) AS commission,
  CAST(json_extract(o.value, '$[6]') AS INTEGER) AS pricing_restriction,
  s.checked_at,
  CAST((p.sellable = 1 AND p.dates_off_at IS NOT NULL) OR unixepoch()*1000 >= COALESCE(s.held_at, s.stale_at) AS INTEGER) AS stale,
  CAST(4 * s.stale_at - 4 * s.checked_at + COALESCE(s.held_at, s.checked_at) AS INTEGER) AS expired_at,
  CAST(CASE WHEN unixepoch()*1000 >= 4 * s.stale_at - 4 * s.checked_at + COALESCE(s.held_at, s.checked_at) THEN 'expired'
    WHEN (p.sellable = 1 AND p.dates_off_at IS NOT NULL) OR unixepoch()*1000 >= COALESCE(s.held_at, s.stale_at) THEN 'stale' ELSE 'fresh' END AS TEXT) AS freshness
FROM _day d
CROSS JOIN _product p ON p.product_id = d.product_id
LEFT JOIN json_each(CASE WHEN d.date <= date('now', '+14 hours') THEN json_array(COALESCE((
    SELECT strftime('%Y-%m-%d %H:%M', min(max(unixepoch(), z.valid_from / 1000.0 - 0.001) + z.offset_minutes * 60), 'unixepoch')
    FROM _zone_offset z
    WHERE z.timezone = COALESCE(p.timezone, '') AND z.valid_from >= (SELECT max(f.valid_from) FROM _zone_offset f
      WHERE f.timezone = COALESCE(p.timezone, '') AND f.valid_from <= unixepoch()*1000)),
  strftime('%Y-%m-%d %H:%M', 'now', '-12 hours'))) END) n
CROSS JOIN _availability_span s ON s.product_id = d.product_id AND s.currency = d.currency
  AND s.from_date <= d.date AND s.to_date >= d.date
CROSS JOIN _day_document c ON c.document_id = d.document_id
CROSS JOIN json_each(c.document, '$[2]') t
CROSS JOIN json_each(t.value, '$[2]') o
WHERE p.withdrawn_at IS NULL
  AND (n.value IS NULL OR (d.date >= substr(n.value, 1, 10)
    AND NOT (typeof(json_extract(t.value, '$[0]')) = 'integer' AND json_extract(t.value, '$[0]') >= 0
      AND d.date || printf(' %02d:%02d', json_extract(t.value, '$[0]') / 60, json_extract(t.value, '$[0]') % 60) <= n.value)));

-- Titles are those of the list, which is walked in the primary language; places are named in each.
CREATE VIEW experiences AS
SELECT e.experience_id, l.language, m.language AS language_shown, CAST(COALESCE(e.title, t.venue_name) AS TEXT) AS title, e.tagline, e.url,
  CAST(COALESCE(e.address, t.venue_address) AS TEXT) AS address,
  v.city_id, CAST(COALESCE(t.city_name, e.city_name) AS TEXT) AS city_name,
  v.country_id, CAST(COALESCE(t.country_name, e.country_name) AS TEXT) AS country_name,
  CAST(COALESCE(e.latitude, v.latitude) AS REAL) AS latitude, CAST(COALESCE(e.longitude, v.longitude) AS REAL) AS longitude,
  e.rating, e.rating_count, CAST(CASE WHEN e.currency = m.currency THEN e.from_price END AS INTEGER) AS from_price, m.currency,
  CAST((SELECT count(*) FROM (
    SELECT x.product_id FROM _product_experience x CROSS JOIN _product p ON p.product_id = x.product_id
    WHERE x.experience_id = e.experience_id AND p.withdrawn_at IS NULL
    UNION SELECT p.product_id FROM _product p WHERE p.venue_id = e.experience_id AND p.withdrawn_at IS NULL)) AS INTEGER) AS products,
  CAST((SELECT count(*) FROM (
    SELECT x.product_id FROM _product_experience x CROSS JOIN _product p ON p.product_id = x.product_id
    WHERE x.experience_id = e.experience_id AND p.withdrawn_at IS NULL AND p.sellable = 1
    UNION SELECT p.product_id FROM _product p WHERE p.venue_id = e.experience_id AND p.withdrawn_at IS NULL AND p.sellable = 1)) AS INTEGER) AS sellable_products,
  e.document, e.checked_at, e.changed_at,
  CAST(unixepoch()*1000 >= e.stale_at AS INTEGER) AS stale,
  CAST(4 * e.stale_at - 3 * e.checked_at AS INTEGER) AS expired_at,
  CAST(CASE WHEN unixepoch()*1000 >= 4 * e.stale_at - 3 * e.checked_at THEN 'expired'
    WHEN unixepoch()*1000 >= e.stale_at THEN 'stale' ELSE 'fresh' END AS TEXT) AS freshness
FROM _experience e
CROSS JOIN _mirror m
CROSS JOIN _mirror_language l
LEFT JOIN _product v ON v.product_id = (SELECT min(p.product_id) FROM _product p WHERE p.venue_id = e.experience_id AND p.withdrawn_at IS NULL)
LEFT JOIN _product_text t ON t.product_id = v.product_id AND t.language = COALESCE(
  (SELECT x.language FROM _product_text x WHERE x.product_id = v.product_id AND x.language = l.language), m.language);

-- A city that products put into several countries is in that of most of them, of equally many the one with the smaller id.
CREATE VIEW cities AS
SELECT c.city_id, l.language,
  CAST(COALESCE((SELECT t.city_name FROM _product p CROSS JOIN _product_text t ON t.product_id = p.product_id AND t.language = l.language
    WHERE p.city_id = c.city_id AND p.withdrawn_at IS NULL AND t.city_name IS NOT NULL ORDER BY p.product_id LIMIT 1),
    (SELECT t.city_name FROM _product p CROSS JOIN _product_text t ON t.product_id = p.product_id AND t.language = m.language
    WHERE p.city_id = c.city_id AND p.withdrawn_at IS NULL AND t.city_name IS NOT NULL ORDER BY p.product_id LIMIT 1)) AS TEXT) AS name,
  c.country_id, CAST(c.products AS INTEGER) AS products, CAST(c.sellable_products AS INTEGER) AS sellable_products
FROM (
  SELECT city_id, country_id, max(n * 4294967296 - COALESCE(country_id, 4294967295)), sum(n) AS products, sum(s) AS sellable_products
  FROM (SELECT country_id, city_id, count(*) AS n, sum(sellable) AS s FROM _product WHERE withdrawn_at IS NULL GROUP BY country_id, city_id)
  WHERE city_id IS NOT NULL
  GROUP BY city_id
) c
CROSS JOIN _mirror m
CROSS JOIN _mirror_language l;

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
CROSS JOIN _mirror_language l;
