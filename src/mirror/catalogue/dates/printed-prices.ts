import { instant } from '../../../clock.ts';
import { printedSteps, samePrices } from '../../../domain/catalogue/printed-price.ts';
import type { Bound, Writes } from '../../../sqlite/statements.ts';
import { query } from '../../sql/sql.ts';
import type { Tables } from '../../sql/tables.ts';
import { atFirst, atLast, insertPrice, listedColumns } from '../product/prices.ts';
import type { OfProduct } from './answer-meta.ts';

type Step = Pick<Tables['price'], 'until_at' | 'lowest_price' | 'lowest_adult_price' | 'price_variant_type'>;

/** Printed prices of products, each valid from one instant to another. */
export interface PrintedPrices {
  /** Recomputes the printed prices from the available dates of a product. Writes nothing if they are the same. */
  recompute(of: OfProduct): void;
}

export function printedPrices(db: Writes): PrintedPrices {
  const available = db.rows(({ product_id, currency }: Bound<OfProduct>) =>
    query
      .selectFrom('day')
      .select(['from_at', 'until_at', 'lowest_price', 'lowest_adult_price', 'price_variant_type'])
      .where('product_id', '=', product_id)
      .where('currency', '=', currency)
      .where('state', '=', 'available'),
  );
  const stored = db.rows(({ product_id, currency }: Bound<OfProduct>) =>
    query
      .selectFrom('price')
      .select(['until_at', 'lowest_price', 'lowest_adult_price', 'price_variant_type', ...listedColumns])
      .where('product_id', '=', product_id)
      .where('currency', '=', currency)
      .orderBy('until_at'),
  );
  const drop = db.change(({ product_id, currency }: Bound<OfProduct>) =>
    query.deleteFrom('price').where('product_id', '=', product_id).where('currency', '=', currency),
  );
  const put = db.change(insertPrice);
  return {
    recompute: (of) => {
      const steps = printedSteps(available.all(of));
      const before = stored.all(of);
      const [listed = unlisted] = before;
      if (sameSteps(before.slice(0, -1), steps)) return;
      drop.run(of);
      let from_at = atFirst;
      for (const step of [...steps, nothingLeft]) {
        const until_at = instant(step.until_at);
        put.run({ ...of, ...listed, ...step, from_at, until_at });
        from_at = until_at;
      }
    },
  };
}

/** After the last date. */
const nothingLeft = { until_at: atLast, lowest_price: null, lowest_adult_price: null, price_variant_type: null };

/** Values for a currency in which the list was not read. */
const unlisted = { from_price: null, prediscount_price: null, checked_at: null, stale_at: null, held_at: null };

type Printed = Readonly<Omit<Step, 'until_at'>> & { readonly until_at: number };

function sameSteps(before: readonly Printed[], steps: readonly Printed[]): boolean {
  return (
    before.length === steps.length &&
    steps.every((step, index) => {
      const one = before[index];
      return one !== undefined && one.until_at === step.until_at && samePrices(one, step);
    })
  );
}
