import type { DayForm } from '../../../domain/catalogue/availability.ts';
import { bookableStretches, notBegun } from '../../../domain/catalogue/passed-times.ts';
import { addDays } from '../../../domain/time/dates.ts';
import { venueInstants } from '../../../domain/time/venue-clock.ts';
import type { Bound, Writes } from '../../../sqlite/statements.ts';
import { query, upsert } from '../../sql/sql.ts';
import type { Tables } from '../../sql/tables.ts';
import type { OfProduct } from './window.ts';

type Key = Pick<Tables['bookable'], 'product_id' | 'currency' | 'date'>;

/** What can be bought of each date, from one instant to another. */
export interface BookableTable {
  /** Replaces the rows of a date; null: it is sold out. */
  put(key: Key, form: DayForm | null, today: string): void;
  /** Forgets dates before one. */
  prune(of: OfProduct, date: string): void;
  /**
   * Divides dates that have come near since the last time, at most `limit` of them, in a transaction of its own. Returns
   * whether more are left.
   */
  divideNear(today: string, limit: number): boolean;
}

/**
 * Dates up to so many days ahead are divided at their times: a mirror whose daemon is dead for two days still tells what is
 * left. Dividing all dates would multiply the rows, and nobody needs that.
 */
const nearDays = 3;

export function bookableTable(db: Writes): BookableTable {
  const put = db.change(
    upsert(
      'bookable',
      ['product_id', 'currency', 'date', 'from_at'],
      ['until_at', 'whole', 'lowest_price', 'max_tickets'],
    ),
  );
  const drop = db.change(({ product_id, currency, date }: Bound<Key>) =>
    query
      .deleteFrom('bookable')
      .where('product_id', '=', product_id)
      .where('currency', '=', currency)
      .where('date', '=', date),
  );
  const dropBefore = db.change(({ product_id, currency, date }: Bound<Key>) =>
    query
      .deleteFrom('bookable')
      .where('product_id', '=', product_id)
      .where('currency', '=', currency)
      .where('date', '<', date),
  );
  const zoneOf = db.values(({ product_id }: Bound<{ product_id: number }>) =>
    query.selectFrom('product').select('timezone').where('product_id', '=', product_id),
  );
  const near = db.rows(({ last, limit }: Bound<{ last: string; limit: number }>) =>
    query
      .selectFrom('bookable as b')
      .leftJoin('day as d', (on) =>
        on
          .onRef('d.product_id', '=', 'b.product_id')
          .onRef('d.currency', '=', 'b.currency')
          .onRef('d.date', '=', 'b.date'),
      )
      .leftJoin('day_document as c', 'c.document_id', 'd.document_id')
      .select(['b.product_id', 'b.currency', 'b.date', 'c.document'])
      .distinct()
      .where('b.whole', '=', 1)
      .where('b.date', '<=', last)
      .orderBy('b.date')
      .limit(limit),
  );
  const instant = venueInstants();

  function replace({ product_id, currency, date }: Key, form: DayForm | null, detail: 'whole' | 'stretches'): void {
    drop.run({ product_id, currency, date });
    if (form === null) return;
    const timezone = zoneOf.get({ product_id }) ?? null;
    for (const { from, until, ...left } of bookableStretches(form, detail)) {
      const from_at = from === notBegun ? 0 : instant(timezone, date, from);
      const until_at = instant(timezone, date, until);
      put.run({ product_id, currency, date, from_at, until_at, whole: detail === 'whole' ? 1 : 0, ...left });
    }
  }

  return {
    put: (key, form, today) => replace(key, form, key.date > addDays(today, nearDays + 1) ? 'whole' : 'stretches'),
    prune: ({ product_id, currency }, date) => {
      dropBefore.run({ product_id, currency, date });
    },
    divideNear: (today, limit) => {
      const rows = near.all({ last: addDays(today, nearDays), limit });
      const divide = ({ document, ...key }: (typeof rows)[number]) =>
        replace(key, document === null ? null : (JSON.parse(document) as DayForm), 'stretches');
      if (rows.length > 0) db.transaction(() => rows.forEach(divide));
      return rows.length === limit;
    },
  };
}
