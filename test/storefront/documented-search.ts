import { foundSql, relevanceSql } from '../../src/storefront/search/hits-sql.ts';
import { placeMark } from '../../src/storefront/search/marks.rules.ts';
import { understood } from '../../src/storefront/search/understood.ts';

/** The search as one statement, for those who read the file without the reader: what stands in schema/search.sql. */
export const documentedSearch =
  `-- What a shopper means, from the mirror alone: SQLite 3.38 and newer, no functions of your own, no daemon. Bound are :text,
-- :language, :currency, :limit and :offset; each of the others may be NULL, and then narrows nothing.
${understood},
${foundSql('answer')},
-- What it is ordered by, and nothing else: a broad search finds thousands, of which a page is looked up. Told that little is
-- found (likelihood), SQLite looks that up; else it first reads whole tables, to know which keys they have.
hit (product_id, weight, typos, places, field, extra, kept, sellable, place) AS MATERIALIZED (
  SELECT r.product_id, f.weight, f.typos, f.places, f.field, f.extra, f.kept, r.sellable, r.place
  FROM found f
  CROSS JOIN product_popularity r ON r.product_id = f.product_id
  WHERE likelihood(f.typos >= 0, 0.000001)
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
  -- What it is ordered by: where every word was found (0 name or city to 4 summary; NULL: not every word was), letters that differ, its place in popularity.
  h.field, h.typos, h.place,
  -- Of the best one: the typed words that it lacks, and what was typed with its typos mended; and how many there are.
  (SELECT group_concat(w.value ->> 'word', ' ') FROM json_each(a.words) w
    WHERE NOT w.value ->> 'generic' AND NOT h.kept >> (w.value ->> 'n') & 1) AS dropped,
  (SELECT CASE WHEN count(x.value) > 0 THEN group_concat(COALESCE(x.value ->> 'meant', w.value ->> 'word'), ' ') END
    FROM json_each(a.words) w LEFT JOIN json_each(a.parts) x
      ON x.value ->> 'n' = w.value ->> 'n' AND x.value ->> 'cost' > 1 AND h.kept >> (w.value ->> 'n') & 1) AS meant,
  (SELECT count(*) FROM hit) AS total,
  (SELECT c.price_variant_type FROM product_prices c WHERE c.product_id = p.product_id AND c.currency = @currency) AS price_variant_type,
  p.language_shown
FROM answer a
CROSS JOIN (SELECT * FROM hit h ORDER BY ${relevanceSql}, h.sellable DESC, h.place, h.product_id
  LIMIT CAST(@limit AS INTEGER) OFFSET CAST(@offset AS INTEGER)) h
CROSS JOIN products p ON p.product_id = h.product_id AND p.language = @language
WHERE likelihood(h.typos >= 0, 0.000001)
ORDER BY ${relevanceSql}, h.sellable DESC, h.place, h.product_id
`
    .replaceAll('@', ':')
    // A client that reads the file in another encoding than UTF-8 would look for another mark, and order otherwise.
    .replaceAll(placeMark, "' || char(183) || '")
    .replaceAll("'' || ", '');
