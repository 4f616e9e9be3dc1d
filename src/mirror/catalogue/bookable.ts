import type { DayForm } from '../../domain/catalogue/availability.ts';
import { bookableStretches, notBegun } from '../../domain/catalogue/passed-times.ts';
import { addDays } from '../../domain/time/dates.ts';
import { venueInstants } from '../../domain/time/venue.ts';
import type { Database } from '../../sqlite/database-file.ts';
import { namedUpsert, param, prepare, query } from '../sql/sql.ts';
import type { Tables } from '../sql/tables.ts';

type Key = Pick<Tables['bookable'], 'product_id' | 'currency' | 'date'>;

/** What can be bought of each date, from one instant to another. Functions that write run inside the caller's transaction. */
export interface BookableTable {
  /** Replaces what stands of a date; null: sold out. */
  put(key: Key, form: DayForm | null, today: string): void;
  prune(of: Pick<Key, 'product_id' | 'currency'>, today: string): void;
  /** Divides dates that have come near since the last time, at most `limit` of them. Returns whether more are left. */
  divideNear(today: string, limit: number): boolean;
}

/**
 * Dates up to so many days ahead are divided at their times: a mirror of which the daemon is dead for two days still tells what
 * is left. Further ones would multiply the rows, and nobody needs them.
 */
const nearDays = 3;

export function bookableTable(db: Database): BookableTable {
  const put = prepare<Tables['bookable']>(
    db,
    namedUpsert(
      'bookable',
      ['product_id', 'currency', 'date', 'from_at'],
      ['until_at', 'whole', 'lowest_price', 'max_tickets'],
    ),
  );
  const ofDates = query
    .deleteFrom('bookable')
    .where('product_id', '=', param<number>('product_id'))
    .where('currency', '=', param<string>('currency'));
  const drop = prepare<Key>(db, ofDates.where('date', '=', param<string>('date')));
  const dropPast = prepare<Omit<Key, 'date'> & { today: string }>(
    db,
    ofDates.where('date', '<', param<string>('today')),
  );
  const zoneOf = db.prepare<[number], string | null>('SELECT timezone FROM product WHERE product_id = ?').pluck();
  const near = db.prepare<[string, number], Key & { document: string | null }>(
    `SELECT DISTINCT b.product_id, b.currency, b.date, c.document FROM bookable b
     LEFT JOIN day d ON d.product_id = b.product_id AND d.currency = b.currency AND d.date = b.date
     LEFT JOIN day_document c ON c.document_id = d.document_id
     WHERE b.whole = 1 AND b.date <= ? ORDER BY b.date LIMIT ?`,
  );
  const instant = venueInstants();

  function replace({ product_id, currency, date }: Key, form: DayForm | null, detail: 'whole' | 'stretches'): void {
    drop.run({ product_id, currency, date });
    if (form === null) return;
    const timezone = zoneOf.get(product_id) ?? null;
    for (const { from, until, ...left } of bookableStretches(form, detail)) {
      const from_at = from === notBegun ? 0 : instant(timezone, date, from);
      const until_at = instant(timezone, date, until);
      put.run({ product_id, currency, date, from_at, until_at, whole: detail === 'whole' ? 1 : 0, ...left });
    }
  }

  return {
    put: (key, form, today) => replace(key, form, key.date > addDays(today, nearDays + 1) ? 'whole' : 'stretches'),
    prune: ({ product_id, currency }, today) => {
      dropPast.run({ product_id, currency, today });
    },
    divideNear: (today, limit) => {
      const rows = near.all(addDays(today, nearDays), limit);
      for (const { document, ...key } of rows)
        replace(key, document === null ? null : (JSON.parse(document) as DayForm), 'stretches');
      return rows.length === limit;
    },
  };
}
