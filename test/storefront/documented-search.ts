import { foundSql } from '../../src/storefront/find/hits-sql.ts';
import { understood } from '../../src/storefront/find/understood.ts';

/** The search as one statement, for those who read the file without the reader: what stands in schema/search.sql. */
export const documentedSearch =
  `-- What a shopper means, from the mirror alone: SQLite 3.38 and newer, no functions of your own, no daemon. Bound are :text,
-- :language, :currency, :limit and :offset; each of the others may be NULL, and then narrows nothing.
${understood},
${foundSql('answer')},
-- What it is ordered by, and nothing else: a broad search finds thousands, of which a page is looked up. Told that little is
-- found (likelihood), SQLite looks that up; else it first reads whole tables, to know which keys they have.
hit (product_id, field, typos, sellable, place) AS MATERIALIZED (
  SELECT r.product_id, f.field, (SELECT typos FROM answer) + f.typos, r.sellable, r.place
  FROM found f
  CROSS JOIN search_entries e ON e.search_id = f.search_id AND e.language = @language
  CROSS JOIN product_popularity r ON r.product_id = e.product_id
  WHERE likelihood(f.field >= 0, 0.000001)
    AND (@city_id IS NULL OR r.city_id = CAST(@city_id AS INTEGER))
    AND (@country_id IS NULL OR r.country_id = CAST(@country_id AS INTEGER))
    AND (@tag_id IS NULL OR EXISTS (SELECT 1 FROM product_tags g WHERE g.product_id = r.product_id AND g.tag_id = CAST(@tag_id AS INTEGER)))
    AND (@min_rating IS NULL OR r.rating >= CAST(@min_rating AS REAL))
    AND (@max_price IS NULL OR (SELECT COALESCE(c.lowest_adult_price, c.from_price) FROM product_prices c
      WHERE c.product_id = r.product_id AND c.currency = @currency) <= CAST(@max_price AS INTEGER))
    AND (@sellable IS NULL OR r.sellable >= CAST(@sellable AS INTEGER))
    AND (@from IS NULL OR EXISTS (SELECT 1 FROM bookable_days b WHERE b.product_id = r.product_id AND b.currency = @currency
      AND b.date BETWEEN @from AND @to))
)
SELECT p.product_id, p.title, p.tagline, p.city_name, p.sellable, p.rating,
  -- What a shop prints, price_variant_type whose price it is: where no date has one, what the service says of the product.
  (SELECT COALESCE(c.lowest_adult_price, c.from_price) FROM product_prices c WHERE c.product_id = p.product_id AND c.currency = @currency) AS price,
  -- What it is ordered by: where every word was found (0 name … 5 summary; the beginning of a name counts no more than its city),
  -- letters that differ, its place in popularity.
  h.field, h.typos, h.place,
  -- The same in every row: what was left out of what was typed, what was meant, and how many there are.
  (SELECT group_concat(w.value ->> 'word', ' ') FROM json_each(a.words) w WHERE NOT w.value ->> 'generic'
    AND w.value ->> 'n' NOT IN (SELECT x.value FROM json_each(a.kept) x)) AS dropped,
  CASE WHEN a.typos > 0 THEN (SELECT group_concat(COALESCE((SELECT x.value ->> 'meant' FROM json_each(a.parts) x
    WHERE x.value ->> 'n' = w.value ->> 'n' AND x.value ->> 'n' IN (SELECT k.value FROM json_each(a.kept) k) AND x.value ->> 'cost' > 1), w.value ->> 'word'), ' ')
    FROM json_each(a.words) w) END AS meant,
  (SELECT count(*) FROM hit) AS total,
  (SELECT c.price_variant_type FROM product_prices c WHERE c.product_id = p.product_id AND c.currency = @currency) AS price_variant_type,
  p.language_shown
FROM answer a
CROSS JOIN (SELECT * FROM hit ORDER BY typos, max(field, 1), sellable DESC, place, product_id
  LIMIT CAST(@limit AS INTEGER) OFFSET CAST(@offset AS INTEGER)) h
CROSS JOIN products p ON p.product_id = h.product_id AND p.language = @language
WHERE likelihood(h.field >= 0, 0.000001)
ORDER BY h.typos, max(h.field, 1), h.sellable DESC, h.place, h.product_id
`.replaceAll('@', ':');
