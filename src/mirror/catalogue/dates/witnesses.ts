import { addDays } from '../../../domain/time/dates.ts';
import type { Bound, Writes } from '../../../sqlite/statements.ts';
import { query } from '../../sql/sql.ts';

interface Wanted {
  readonly currency: string;
  /** Dates up to this one do not count. */
  readonly after: string;
  /** How many days lie between two dates of a product, at least. */
  readonly apart: number;
}

/** Finds a few products on sale that are sold on two dates, each with the later one: the nearest first. */
export type DateWitnesses = (wanted: Wanted) => { product_id: number; date: string }[];

const mostWitnesses = 3;

export function dateWitnesses(db: Writes): DateWitnesses {
  const sold = db.rows(
    ({ currency, after, from, apart }: Bound<Record<'currency' | 'after' | 'from' | 'apart', string>>) =>
      query
        .selectFrom('_bookable as b')
        .innerJoin('_product as p', 'p.product_id', 'b.product_id')
        .select(['b.product_id', 'b.date'])
        .where('b.currency', '=', currency)
        .where('b.date', '>=', from)
        .where('p.sellable', '=', 1)
        .where(({ exists, fn, selectFrom }) =>
          exists(
            selectFrom('_bookable as e')
              .select('e.date')
              .whereRef('e.product_id', '=', 'b.product_id')
              .where('e.currency', '=', currency)
              .where('e.date', '>', after)
              .where('e.date', '<=', fn<string>('date', ['b.date', apart])),
          ),
        )
        .orderBy('b.date')
        // A product has several rows, one for each time of a date.
        .limit(10 * mostWitnesses),
  );
  return ({ currency, after, apart }) => {
    const found = sold.all({ currency, after, from: addDays(after, apart), apart: `-${apart} days` });
    const nearest = new Map<number, (typeof found)[number]>();
    for (const each of found) nearest.getOrInsert(each.product_id, each);
    return [...nearest.values()].slice(0, mostWitnesses);
  };
}
