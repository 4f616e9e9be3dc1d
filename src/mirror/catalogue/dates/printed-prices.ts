import { instant } from '../../../clock.ts';
import { printedSteps, samePrices } from '../../../domain/catalogue/printed-price.ts';
import type { Bound, Writes } from '../../../sqlite/statements.ts';
import { query, upsert } from '../../sql/sql.ts';
import type { Tables } from '../../sql/tables.ts';
import type { OfProduct } from './window.ts';

type Step = Tables['_printed_price'];

/** What is printed of products, from one instant to another. */
export interface PrintedPrices {
  /** Finds it again from what can be bought of the dates of a product; writes nothing where it is the same. */
  find(of: OfProduct): void;
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
      .selectFrom('_printed_price')
      .select(['until_at', 'lowest_price', 'lowest_adult_price', 'price_variant_type'])
      .where('product_id', '=', product_id)
      .where('currency', '=', currency)
      .orderBy('until_at'),
  );
  const drop = db.change(({ product_id, currency }: Bound<OfProduct>) =>
    query.deleteFrom('_printed_price').where('product_id', '=', product_id).where('currency', '=', currency),
  );
  const put = db.change(
    upsert(
      '_printed_price',
      ['product_id', 'currency', 'until_at'],
      ['lowest_price', 'lowest_adult_price', 'price_variant_type'],
    ),
  );
  return {
    find: (of) => {
      const steps = printedSteps(available.all(of));
      const before = stored.all(of);
      if (sameSteps(before, steps)) return;
      if (before.length > 0) drop.run(of);
      for (const step of steps) put.run({ ...of, ...step, until_at: instant(step.until_at) });
    },
  };
}

type Printed = Readonly<Omit<Step, keyof OfProduct | 'until_at'>> & { readonly until_at: number };

function sameSteps(before: readonly Printed[], steps: readonly Printed[]): boolean {
  return (
    before.length === steps.length &&
    steps.every((step, index) => {
      const one = before[index];
      return one !== undefined && one.until_at === step.until_at && samePrices(one, step);
    })
  );
}
