import type { DayForm } from '../../../domain/catalogue/availability.ts';
import { bookableStretches, notBegun } from '../../../domain/catalogue/passed-times.ts';
import { venueInstants } from '../../../domain/time/venue-clock.ts';
import type { Bound, Writes } from '../../../sqlite/statements.ts';
import { query, upsert } from '../../sql/sql.ts';
import type { Tables } from '../../sql/tables.ts';
import type { OfProduct } from './window.ts';

type Key = Pick<Tables['bookable'], 'product_id' | 'currency' | 'date'>;

/** What can be bought of each date, from one instant to another. */
export interface BookableTable {
  /** Writes the rows of a date at the venue, in place of those it had if it is `known`; null: it is sold out. */
  put(key: Key, form: DayForm | null, at: { readonly timezone: string | null; readonly known: boolean }): void;
  /** Returns the zone whose clock a product's times are told by. */
  zoneOf(product_id: number): string | null;
  /** Forgets dates before one. */
  prune(of: OfProduct, date: string): void;
  /**
   * Divides dates that are one row still, as an older version wrote them or because the product turned out to be elsewhere:
   * at most `limit` of them, in a transaction of its own, the earliest first. Returns whether more are left.
   */
  divide(limit: number): boolean;
}

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
  const undivided = undividedDates(db);
  const instant = venueInstants();

  function write({ product_id, currency, date }: Key, form: DayForm, timezone: string | null): void {
    for (const { from, until, ...left } of bookableStretches(form)) {
      const from_at = from === notBegun ? 0 : instant(timezone, date, from);
      const until_at = instant(timezone, date, until);
      put.run({ product_id, currency, date, from_at, until_at, whole: 0, ...left });
    }
  }

  return {
    put: (key, form, { timezone, known }) => {
      if (known) drop.run(key);
      if (form !== null) write(key, form, timezone);
    },
    zoneOf: (product_id) => zoneOf.get({ product_id }) ?? null,
    prune: ({ product_id, currency }, date) => {
      dropBefore.run({ product_id, currency, date });
    },
    divide: (limit) => {
      const dates = undivided.all({ limit });
      const divide = ({ document, timezone, ...key }: (typeof dates)[number]) => {
        drop.run(key);
        if (document !== null) write(key, JSON.parse(document) as DayForm, timezone);
      };
      if (dates.length > 0) db.transaction(() => dates.forEach(divide));
      return dates.length === limit;
    },
  };
}

/** Returns dates that one row stands for still, with what is stored of them. */
function undividedDates(db: Writes) {
  return db.rows(({ limit }: Bound<{ limit: number }>) =>
    query
      .selectFrom('bookable as b')
      .leftJoin('product as p', 'p.product_id', 'b.product_id')
      .leftJoin('day as d', (on) =>
        on
          .onRef('d.product_id', '=', 'b.product_id')
          .onRef('d.currency', '=', 'b.currency')
          .onRef('d.date', '=', 'b.date'),
      )
      .leftJoin('day_document as c', 'c.document_id', 'd.document_id')
      .select(['b.product_id', 'b.currency', 'b.date', 'p.timezone', 'c.document'])
      .distinct()
      .where('b.whole', '=', 1)
      .orderBy('b.date')
      .limit(limit),
  );
}
