import { identifier, members, wholeNumber } from '../arguments.ts';
import type { Connection } from '../connection.ts';
import type { Editions } from '../editions.ts';
import { productColumns } from '../printed-sql.ts';
import type { ViewRow } from '../views.ts';

export interface RelatedOptions {
  readonly language?: string | undefined;
  readonly currency?: string | undefined;
  /** Absent: 10. */
  readonly limit?: number | undefined;
}

type Related = (product_id: number, options?: RelatedOptions) => ViewRow<'products'>[];

/**
 * Returns what else somebody may want who looks at a product: on sale, of one of its experiences or in its city; those
 * of its experiences first, then those with most of its tags, then the most popular.
 */
export function relatedTo(connection: Connection, editions: Editions): Related {
  const related = connection.query<object, ViewRow<'products'>>(
    `WITH near (product_id, together) AS MATERIALIZED (
  SELECT product_id, max(together) FROM (
    SELECT o.product_id, 1 AS together
    FROM product_experiences x CROSS JOIN product_experiences o ON o.experience_id = x.experience_id
    WHERE x.product_id = @product_id
    UNION ALL
    SELECT o.product_id, 0
    FROM products p CROSS JOIN products o ON o.city_id = p.city_id AND o.language = p.language
    WHERE p.product_id = @product_id AND p.language = @language
  ) WHERE product_id <> @product_id GROUP BY product_id
)
SELECT ${productColumns}
FROM (
  SELECT n.product_id, row_number() OVER (ORDER BY n.together DESC, (
    SELECT count(*) FROM product_tags g CROSS JOIN product_tags o ON o.tag_id = g.tag_id AND o.product_id = n.product_id
    WHERE g.product_id = @product_id) DESC, r.place, n.product_id) AS nth
  FROM near n CROSS JOIN product_popularity r ON r.product_id = n.product_id
  WHERE r.sellable = 1
  ORDER BY nth LIMIT @limit
) h
CROSS JOIN products p ON p.product_id = h.product_id AND p.language = @language
ORDER BY h.nth`,
  );
  return (product_id, options = {}) => {
    const { language, currency, limit } = members('options', options, ['language', 'currency', 'limit']);
    return related.all({
      product_id: identifier('product_id', product_id),
      language: editions.language(language),
      currency: editions.currency(currency),
      limit: wholeNumber('limit', limit, { least: 1, absent: 10 }),
    });
  };
}
