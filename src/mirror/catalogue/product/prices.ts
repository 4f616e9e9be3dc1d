import type { ProductEntry } from '../../../domain/catalogue/product.ts';
import { mayReplace } from '../../../domain/schedule/record.ts';
import type { Bound, Writes } from '../../../sqlite/statements.ts';
import type { ChangeTable } from '../../changes/changes.ts';
import { query, upsert } from '../../sql/sql.ts';
import type { Tables } from '../../sql/tables.ts';
import type { ProductRead } from './entry.ts';

type Price = Tables['_product_price'];

/** The price from which a product is sold, by currency. */
export interface ProductPrices {
  /** Returns whether it is another one, or the first. */
  store(entry: ProductEntry, read: ProductRead, product: 'added' | 'known'): boolean;
}

export function productPrices(db: Writes, changes: ChangeTable): ProductPrices {
  const one = db.rows(({ product_id, currency }: Bound<Pick<Price, 'product_id' | 'currency'>>) =>
    query
      .selectFrom('_product_price')
      .selectAll()
      .where('product_id', '=', product_id)
      .where('currency', '=', currency),
  );
  const put = db.change(
    upsert(
      '_product_price',
      ['product_id', 'currency'],
      ['from_price', 'prediscount_price', 'read_at', 'stale_at', 'held_at'],
    ),
  );
  return {
    store: ({ product_id, from_price, prediscount_price = null }, read, product) => {
      const { currency, sent_at, stale_at, now } = read;
      const row = one.get({ product_id, currency });
      if (row !== undefined && !mayReplace(row.read_at, sent_at, now)) return false;
      put.run({ product_id, currency, from_price, prediscount_price, read_at: sent_at, stale_at, held_at: null });
      const other = row?.from_price !== from_price;
      if (!other && row.prediscount_price === prediscount_price) return false;
      const detail = { currency, old: row?.from_price ?? null, new: from_price };
      if (row !== undefined && other) changes.add({ product_id, kind: 'price_changed', detail }, read);
      if (product === 'known' && (row === undefined || currency !== read.primary.currency))
        changes.add({ product_id, kind: 'prices_changed', detail }, read);
      return true;
    },
  };
}
