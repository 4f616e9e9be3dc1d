import type { Instant } from '../../../clock.ts';
import { venueInstants } from '../../../domain/time/venue-clock.ts';
import type { Bound, Writes } from '../../../sqlite/statements.ts';
import type { ChangeTable, FoundBy } from '../../changes/changes.ts';
import { query } from '../../sql/sql.ts';
import { printedPrices } from './printed-prices.ts';
import { endsOf, formOf, slotsOf, slotTable } from './slots.ts';
import { dateSettings, type Stretch, stretchesAt, stretchTable } from './stretches.ts';

/** Printed prices of dates that are already stored. */
export interface Pricing {
  /** Prices the dates of a product, and divides them at their times, by whom its variants are for now and where it is. */
  again(product_id: number, by: FoundBy): void;
  /** Does so for products whose dates another version has stored, or that have moved, at most `limit` of them, in a transaction of its own. Returns whether more are left. */
  next(limit: number, by: FoundBy): boolean;
}

export function pricingOf(db: Writes, changes: ChangeTable): Pricing {
  const stretches = stretchTable(db);
  const slots = slotTable(db);
  const settingOf = dateSettings(db);
  const unpriced = db.values(({ limit }: Bound<{ limit: number }>) =>
    query.selectFrom('_unpriced').select('product_id').orderBy('product_id').limit(limit),
  );
  const drop = db.change(({ product_id }: Bound<{ product_id: number }>) =>
    query.deleteFrom('_unpriced').where('product_id', '=', product_id),
  );
  const printed = printedPrices(db);

  function again(product_id: number, by: FoundBy): void {
    const { timezone, types } = settingOf(product_id);
    const keyOf = ({ currency, date }: { currency: string; date: string }) => `${currency} ${date}`;
    const known = new Map(slots.ofProduct(product_id).map((row) => [keyOf(row), row]));
    const moved = new Map<string, string[]>();
    for (const before of Map.groupBy(stretches.ofProduct(product_id), keyOf).values()) {
      const [first] = before;
      if (first === undefined) continue;
      const { currency, date } = first;
      const others = moved.getOrInsert(currency, []);
      const begins = venueInstants(timezone, date);
      const row = known.get(keyOf(first));
      const form = row === undefined ? undefined : formOf(row);
      const after = stretchesAt(first.window_id, form, { types, begins });
      // Each of its times has a price of its own: that of the whole date may be the same.
      stretches.replace({ product_id, currency, date }, before, after);
      const next = form === undefined ? undefined : slotsOf(form, begins);
      if (next !== undefined && next.slots !== row?.slots) slots.put({ product_id, currency, date }, next);
      const left = leftAt(by.sent_at);
      if (left(before, row?.slots) !== left(after, next?.slots)) others.push(date);
    }
    for (const [currency, others] of moved) {
      printed.recompute({ product_id, currency });
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

/**
 * Returns as text what readers see of a date from an instant on: its prices, and how many of its times are left. A product
 * that has moved to another time zone has other ones left.
 */
function leftAt(at: Instant) {
  return (stretches: readonly Stretch[], slots = '[]'): string =>
    JSON.stringify([
      stretches
        .filter(({ until_at }) => until_at > at)
        .map(({ state, lowest_price, lowest_adult_price, price_variant_type }) => [
          state,
          lowest_price,
          lowest_adult_price,
          price_variant_type,
        ]),
      endsOf(slots).filter((ends_at) => ends_at > at).length,
    ]);
}
