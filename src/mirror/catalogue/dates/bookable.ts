import type { DayForm } from '../../../domain/catalogue/availability.ts';
import { bookableStretches, notBegun } from '../../../domain/catalogue/passed-times.ts';
import type { VariantTypes } from '../../../domain/catalogue/variant.ts';
import { addDays } from '../../../domain/time/dates.ts';
import { venueInstants } from '../../../domain/time/venue-clock.ts';
import type { Bound, Writes } from '../../../sqlite/statements.ts';
import { query, upsert } from '../../sql/sql.ts';
import type { Tables } from '../../sql/tables.ts';
import { variantTypes } from '../variant-types.ts';
import { printedPrices } from './printed-prices.ts';
import type { OfProduct } from './window.ts';

type Key = Pick<Tables['bookable'], 'product_id' | 'currency' | 'date'>;

/** What can be bought of each date, from one instant to another. */
export interface BookableTable {
  /** Replaces the rows of a date; null: it is sold out. */
  put(key: Key, form: DayForm | null, types: VariantTypes, today: string): void;
  /** The same, as finely divided as it is. */
  putAgain(key: Key, form: DayForm, types: VariantTypes): void;
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
      ['until_at', 'whole', 'lowest_price', 'max_tickets', 'lowest_adult_price', 'price_variant_type'],
    ),
  );
  const drop = db.change(({ product_id, currency, date }: Bound<Key>) =>
    query
      .deleteFrom('bookable')
      .where('product_id', '=', product_id)
      .where('currency', '=', currency)
      .where('date', '=', date),
  );
  const prune = pruning(db);
  const zoneOf = db.values(({ product_id }: Bound<{ product_id: number }>) =>
    query.selectFrom('product').select('timezone').where('product_id', '=', product_id),
  );
  const near = nearDates(db);
  const isWhole = db.values(({ product_id, currency, date }: Bound<Key>) =>
    query
      .selectFrom('bookable')
      .select('whole')
      .where('product_id', '=', product_id)
      .where('currency', '=', currency)
      .where('date', '=', date)
      .where('whole', '=', 1),
  );
  const typesOf = variantTypes(db);
  const printed = printedPrices(db);
  const instant = venueInstants();

  function replace(
    { product_id, currency, date }: Key,
    form: DayForm | null,
    types: VariantTypes,
    detail: 'whole' | 'stretches',
  ): void {
    drop.run({ product_id, currency, date });
    if (form === null) return;
    const timezone = zoneOf.get({ product_id }) ?? null;
    for (const { from, until, ...left } of bookableStretches(form, types, detail)) {
      const from_at = from === notBegun ? 0 : instant(timezone, date, from);
      const until_at = instant(timezone, date, until);
      put.run({ product_id, currency, date, from_at, until_at, whole: detail === 'whole' ? 1 : 0, ...left });
    }
  }

  return {
    put: (key, form, types, today) =>
      replace(key, form, types, key.date > addDays(today, nearDays + 1) ? 'whole' : 'stretches'),
    putAgain: ({ product_id, currency, date }, form, types) => {
      const whole = isWhole.get({ product_id, currency, date }) === 1;
      replace({ product_id, currency, date }, form, types, whole ? 'whole' : 'stretches');
    },
    prune,
    divideNear: (today, limit) => {
      const rows = near.all({ last: addDays(today, nearDays), limit });
      const divide = ({ document, ...key }: (typeof rows)[number]) => {
        const form = document === null ? null : (JSON.parse(document) as DayForm);
        replace(key, form, typesOf(key.product_id), 'stretches');
        printed.find(key);
      };
      if (rows.length > 0) db.transaction(() => rows.forEach(divide));
      return rows.length === limit;
    },
  };
}

/** Returns dates up to one that are still to be divided, with what is offered on them. */
function nearDates(db: Writes) {
  return db.rows(({ last, limit }: Bound<{ last: string; limit: number }>) =>
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
}

function pruning(db: Writes): BookableTable['prune'] {
  const dropBefore = db.change(({ product_id, currency, date }: Bound<Key>) =>
    query
      .deleteFrom('bookable')
      .where('product_id', '=', product_id)
      .where('currency', '=', currency)
      .where('date', '<', date),
  );
  return ({ product_id, currency }, date) => {
    dropBefore.run({ product_id, currency, date });
  };
}
