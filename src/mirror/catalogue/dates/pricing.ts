import type { DayForm } from '../../../domain/catalogue/availability.ts';
import { printedOn } from '../../../domain/catalogue/printed-price.ts';
import type { Bound, Writes } from '../../../sqlite/statements.ts';
import type { ChangeTable, FoundBy } from '../../changes/changes.ts';
import { query } from '../../sql/sql.ts';
import type { Tables } from '../../sql/tables.ts';
import type { BookableTable } from './bookable.ts';
import { printedPrices } from './printed-prices.ts';

type Priced = Pick<
  Tables['_day'],
  'product_id' | 'currency' | 'date' | 'document_id' | 'lowest_adult_price' | 'price_variant_type'
>;

/** What is printed of dates that are stored already. */
export interface Pricing {
  /** Prices the dates of a product, and divides them at their times, by whom its variants are for now and where it is. */
  again(product_id: number, by: FoundBy): void;
  /** Does so for products whose dates another version has stored, or that have moved, at most `limit` of them, in a transaction of its own. Returns whether more are left. */
  next(limit: number, by: FoundBy): boolean;
}

export function pricingOf(db: Writes, bookable: BookableTable, changes: ChangeTable): Pricing {
  const dates = db.rows(({ product_id }: Bound<{ product_id: number }>) =>
    query
      .selectFrom('_day as d')
      .innerJoin('_day_document as c', 'c.document_id', 'd.document_id')
      .select(['d.currency', 'd.date', 'd.lowest_adult_price', 'd.price_variant_type', 'c.document'])
      .where('d.product_id', '=', product_id),
  );
  const change = db.change((bound: Bound<Omit<Priced, 'document_id'>>) =>
    query
      .updateTable('_day')
      .set({ lowest_adult_price: bound.lowest_adult_price, price_variant_type: bound.price_variant_type })
      .where('product_id', '=', bound.product_id)
      .where('currency', '=', bound.currency)
      .where('date', '=', bound.date),
  );
  const unpriced = db.values(({ limit }: Bound<{ limit: number }>) =>
    query.selectFrom('_unpriced').select('product_id').orderBy('product_id').limit(limit),
  );
  const drop = db.change(({ product_id }: Bound<{ product_id: number }>) =>
    query.deleteFrom('_unpriced').where('product_id', '=', product_id),
  );
  const printed = printedPrices(db);

  function again(product_id: number, by: FoundBy): void {
    const at = { ...bookable.settingOf(product_id), known: true };
    const moved = new Map<string, string[]>();
    for (const { currency, date, document, ...before } of dates.all({ product_id })) {
      const form = JSON.parse(document) as DayForm;
      const now = printedOn(form, at.types);
      const others = moved.getOrInsert(currency, []);
      if (
        now.lowest_adult_price !== before.lowest_adult_price ||
        now.price_variant_type !== before.price_variant_type
      ) {
        change.run({ product_id, currency, date, ...now });
        others.push(date);
      }
      // Each of its times has a price of its own: that of the whole date may be the same.
      bookable.put({ product_id, currency, date }, form, at);
    }
    for (const [currency, others] of moved) {
      printed.find({ product_id, currency });
      const found = { product_id, kind: 'slots_changed', detail: { currency, dates: others } } as const;
      if (others.length > 0) changes.add(found, by);
    }
  }

  return {
    again,
    next: (limit, by) => {
      const products = unpriced.all({ limit });
      const price = (product_id: number) => {
        again(product_id, by);
        drop.run({ product_id });
      };
      if (products.length > 0) db.transaction(() => products.forEach(price));
      return products.length === limit;
    },
  };
}
