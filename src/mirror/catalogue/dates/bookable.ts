import { instant } from '../../../clock.ts';
import type { DayForm } from '../../../domain/catalogue/availability.ts';
import { bookableStretches, notBegun } from '../../../domain/catalogue/passed-times.ts';
import type { VariantTypes } from '../../../domain/catalogue/variant.ts';
import { venueInstant } from '../../../domain/time/venue-clock.ts';
import type { Bound, Writes } from '../../../sqlite/statements.ts';
import { query, upsert } from '../../sql/sql.ts';
import type { Tables } from '../../sql/tables.ts';
import { variantTypes } from '../variant-types.ts';
import type { OfProduct } from './window.ts';

type Key = Pick<Tables['_bookable'], 'product_id' | 'currency' | 'date'>;

/** Where a date is, and whom its variants are for. */
export interface DateSetting {
  readonly timezone: string | null;
  readonly types: VariantTypes;
}

/** What can be bought of each date, from one instant to another. */
export interface BookableTable {
  /** Writes the rows of a date, in place of those it had if it is `known`; null: it is sold out. */
  put(key: Key, form: DayForm | null, at: DateSetting & { readonly known: boolean }): void;
  /** Returns where a product is, and whom its variants are for. */
  settingOf(product_id: number): DateSetting;
  /** Forgets dates before one. */
  prune(of: OfProduct, date: string): void;
}

export function bookableTable(db: Writes): BookableTable {
  const put = db.change(
    upsert(
      '_bookable',
      ['product_id', 'currency', 'date', 'from_at'],
      ['until_at', 'lowest_price', 'max_tickets', 'lowest_adult_price', 'price_variant_type'],
    ),
  );
  const drop = db.change(({ product_id, currency, date }: Bound<Key>) =>
    query
      .deleteFrom('_bookable')
      .where('product_id', '=', product_id)
      .where('currency', '=', currency)
      .where('date', '=', date),
  );
  const dropBefore = db.change(({ product_id, currency, date }: Bound<Key>) =>
    query
      .deleteFrom('_bookable')
      .where('product_id', '=', product_id)
      .where('currency', '=', currency)
      .where('date', '<', date),
  );
  const zoneOf = db.values(({ product_id }: Bound<{ product_id: number }>) =>
    query.selectFrom('_product').select('timezone').where('product_id', '=', product_id),
  );
  const typesOf = variantTypes(db);

  return {
    put: (key, form, { timezone, types, known }) => {
      if (known) drop.run(key);
      if (form === null) return;
      const { product_id, currency, date } = key;
      for (const { from, until, ...left } of bookableStretches(form, types)) {
        const from_at = instant(from === notBegun ? 0 : venueInstant(timezone, date, from));
        const until_at = instant(venueInstant(timezone, date, until));
        put.run({ product_id, currency, date, from_at, until_at, ...left });
      }
    },
    settingOf: (product_id) => ({ timezone: zoneOf.get({ product_id }) ?? null, types: typesOf(product_id) }),
    prune: ({ product_id, currency }, date) => {
      dropBefore.run({ product_id, currency, date });
    },
  };
}
