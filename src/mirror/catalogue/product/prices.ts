import { instant } from '../../../clock.ts';
import type { ProductEntry } from '../../../domain/catalogue/product.ts';
import { markByRate } from '../../../domain/changes/change.ts';
import { mayReplace } from '../../../domain/schedule/record.ts';
import { type Bound, pick, type Writes } from '../../../sqlite/statements.ts';
import type { ChangeTable } from '../../changes/changes.ts';
import { query } from '../../sql/sql.ts';
import type { Tables } from '../../sql/tables.ts';
import type { ProductRead } from './entry.ts';

type Price = Tables['price'];
type OfProduct = Pick<Price, 'product_id' | 'currency'>;

/** Start of the first price of a product, and end of the last one. */
export const atFirst = instant(0);
export const atLast = instant(8_640_000_000_000_000);

/** The price from which a product is sold, by currency. */
export interface ProductPrices {
  /** Returns whether it is another one, or the first. */
  store(entry: ProductEntry, read: ProductRead, product: 'added' | 'known', isByRate: boolean): boolean;
}

/** The columns that the list brings: the same in all rows of a product in a currency. */
export const listedColumns = ['from_price', 'prediscount_price', 'checked_at', 'stale_at', 'held_at'] as const;

type Listed = Pick<Price, (typeof listedColumns)[number]>;

const insertedColumns = [
  'product_id', 'currency', 'from_at', 'until_at', 'lowest_price', 'lowest_adult_price', 'price_variant_type', ...listedColumns,
] as const; // biome-ignore format: a list of columns

/** Inserts a row, with `shut` of its product: why no date of it is sold. */
export function insertPrice(row: Bound<Pick<Price, (typeof insertedColumns)[number]>>) {
  const shut = query.selectFrom('_product').select('shut').where('product_id', '=', row.product_id).$asScalar();
  return query.insertInto('price').values({ ...pick(row, insertedColumns), shut } as never);
}

export function productPrices(db: Writes, changes: ChangeTable): ProductPrices {
  const one = db.rows(({ product_id, currency }: Bound<OfProduct>) =>
    query
      .selectFrom('price')
      .select(listedColumns)
      .where('product_id', '=', product_id)
      .where('currency', '=', currency)
      .limit(1),
  );
  const put = db.change((bound: Bound<OfProduct & Listed>) =>
    query
      .updateTable('price')
      .set(pick(bound, listedColumns))
      .where('product_id', '=', bound.product_id)
      .where('currency', '=', bound.currency),
  );
  const add = db.change(insertPrice);
  return {
    store: ({ product_id, from_price, prediscount_price = null }, read, product, isByRate) => {
      const { currency, sent_at, stale_at } = read;
      const stored = one.get({ product_id, currency });
      // `checked_at` is null in a row made from dates alone: the list has brought no price yet.
      const row = stored === undefined || stored.checked_at === null ? undefined : stored;
      if (row !== undefined && !mayReplace(row.checked_at, sent_at)) return false;
      const next = {
        product_id,
        currency,
        from_price,
        prediscount_price,
        checked_at: sent_at,
        stale_at,
        held_at: null,
      };
      if (stored === undefined) add.run({ ...next, ...withoutDates });
      else put.run(next);
      const other = row?.from_price !== from_price;
      if (!other && row.prediscount_price === prediscount_price) return false;
      if (product === 'added') return true;
      const detail = { currency, old: row?.from_price ?? null, new: from_price, ...markByRate(isByRate) };
      if (row !== undefined && other) changes.add({ product_id, kind: 'price_changed', detail }, read);
      if (row === undefined || currency !== read.primary.currency)
        changes.add({ product_id, kind: 'prices_changed', detail }, read);
      return true;
    },
  };
}

const withoutDates = {
  from_at: atFirst,
  until_at: atLast,
  lowest_price: null,
  lowest_adult_price: null,
  price_variant_type: null,
};
