import type { CategoryFacts } from '../../domain/catalogue/category.ts';
import type { Database } from '../../sqlite/database-file.ts';

type Facts = Omit<CategoryFacts, 'seller_rank'> & { readonly category: string | null };

export interface CategoryCount {
  readonly category: string | null;
  readonly on_sale: number;
  readonly off_sale: number;
  readonly dynamic: number;
  readonly covered: number;
  readonly covered_dynamic: number;
}

/** Which product belongs to which category, and what they sold. Functions run inside the caller's transaction. */
export interface CategoryTable {
  /** What categories match by: of visible products after one, in ascending order, `limit` of them (-1: all). */
  facts(after: number, limit: number): Facts[];
  assign(product_id: number, category: string | null): void;
  clear(): void;
  /** Tickets sold, as counted now. */
  countSale(product_id: number, sold: number, at: number): void;
  /** The categories that products have now. */
  inUse(): string[];
  /** Visible products of each category (null: of none): on sale, off sale, and of both those with dynamic prices. */
  counts(): CategoryCount[];
  /** Products that sold, as counted at `sold_at`. */
  sold(): { product_id: number; sold: number; sold_at: number }[];
}

export function categoryTable(db: Database): CategoryTable {
  type Row = Omit<Facts, 'experience_ids' | 'tag_ids' | 'dynamic_pricing'> & {
    experience_ids: string;
    tag_ids: string;
    dynamic_pricing: 0 | 1;
  };
  const rows = (where: string) =>
    `SELECT p.product_id, p.city_id, p.category,
       (SELECT json_group_array(experience_id) FROM product_experiences x WHERE x.product_id = p.product_id) AS experience_ids,
       (SELECT json_group_array(tag_id) FROM product_tag g WHERE g.product_id = p.product_id) AS tag_ids,
       EXISTS (SELECT 1 FROM checkout_information_read c WHERE c.product_id = p.product_id AND c.has_dynamic_pricing = 1) AS dynamic_pricing,
       (SELECT json_extract(COALESCE(t.detail_document, t.list_document), '$.supplier.name') FROM product_text t, mirror m
        WHERE t.product_id = p.product_id AND t.language = m.language) AS supplier
     FROM product p WHERE p.withdrawn_at IS NULL ${where}`;
  const slice = db.prepare<[number, number], Row>(rows('AND p.product_id > ? ORDER BY p.product_id LIMIT ?'));
  const put = db.prepare<[string | null, number]>('UPDATE product SET category = ? WHERE product_id = ?');
  const clear = db.prepare('UPDATE product SET category = NULL WHERE category IS NOT NULL');
  const putSold = db.prepare<[number, number, number]>('UPDATE product SET sold = ?, sold_at = ? WHERE product_id = ?');
  const inUse = db
    .prepare<[], string>('SELECT DISTINCT category FROM product WHERE category IS NOT NULL ORDER BY category')
    .pluck();
  const isDynamic =
    'EXISTS (SELECT 1 FROM checkout_information_read c WHERE c.product_id = p.product_id AND c.has_dynamic_pricing = 1)';
  const counts = db.prepare<[], CategoryCount>(
    `SELECT category, sum(sellable) AS on_sale, sum(NOT sellable) AS off_sale,
       sum(${isDynamic}) AS dynamic, sum(covered) AS covered, sum(covered AND ${isDynamic}) AS covered_dynamic
     FROM product p WHERE withdrawn_at IS NULL GROUP BY category`,
  );
  const sold = db.prepare<[], { product_id: number; sold: number; sold_at: number }>(
    'SELECT product_id, sold, sold_at FROM product WHERE sold_at IS NOT NULL AND withdrawn_at IS NULL',
  );
  return {
    facts: (after, limit) =>
      slice.all(after, limit).map((row) => ({
        ...row,
        experience_ids: JSON.parse(row.experience_ids) as number[],
        tag_ids: JSON.parse(row.tag_ids) as number[],
        dynamic_pricing: row.dynamic_pricing === 1,
      })),
    assign: (product_id, category) => {
      put.run(category, product_id);
    },
    countSale: (product_id, tickets, at) => {
      putSold.run(tickets, at, product_id);
    },
    clear: () => {
      clear.run();
    },
    inUse: () => inUse.all(),
    counts: () => counts.all(),
    sold: () => sold.all(),
  };
}
