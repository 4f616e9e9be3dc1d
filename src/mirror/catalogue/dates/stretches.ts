import { type Instant, instant } from '../../../clock.ts';
import type { DayForm } from '../../../domain/catalogue/availability.ts';
import { type DateStretch, notBegun, stretchesOf } from '../../../domain/catalogue/passed-times.ts';
import type { VariantTypes } from '../../../domain/catalogue/variant.ts';
import { type Bound, listed, pick, type Writes } from '../../../sqlite/statements.ts';
import { query, upsert } from '../../sql/sql.ts';
import type { Tables } from '../../sql/tables.ts';
import { variantTypes } from '../variant-types.ts';
import type { OfProduct } from './answer-meta.ts';

/** A date of a product in a currency. */
export type DateKey = OfProduct & Pick<Tables['day'], 'date'>;

/** A row of a date: what is shown of it from one instant to another. */
export type Stretch = Omit<Tables['day'], keyof DateKey>;

/** Time zone of a product, the types of its variants, and whether its dates are shown and sold. */
export interface DateSetting extends Pick<Tables['_product'], 'shut'> {
  readonly timezone: string | null;
  readonly types: VariantTypes;
}

/** The rows of dates, each divided where its times begin that change more than the count of tickets. */
export interface StretchTable {
  /** Returns the rows of a date, in order. */
  ofDate(key: DateKey): Stretch[];
  /** Returns the rows of all dates of a product, in order. */
  ofProduct(product_id: number): Tables['day'][];
  /** Makes the rows of a date what `after` says. Writes only those that differ. */
  replace(key: DateKey, before: readonly Stretch[], after: readonly Stretch[]): void;
  /** Has dates belong to another span. */
  move(of: OfProduct, dates: readonly string[], window_id: number): void;
  /** Forgets dates before one. */
  prune(of: OfProduct, date: string): void;
}

/** Dates as a JSON array. */
type Moved = { readonly dates: string; readonly window_id: number };

/** Columns that change with each ticket sold. No index has them. */
const counts = ['availability', 'counted_until_at'] as const;
const shown = ['from_at', 'state', 'lowest_price', 'lowest_adult_price', 'price_variant_type', 'max_tickets', ...counts, 'window_id'] as const; // biome-ignore format: a list of columns

const isCount: ReadonlySet<(typeof shown)[number]> = new Set(counts);

export function stretchTable(db: Writes): StretchTable {
  const ofDate = db.rows(({ product_id, currency, date }: Bound<DateKey>) =>
    query
      .selectFrom('day')
      .select(['until_at', ...shown])
      .where('product_id', '=', product_id)
      .where('currency', '=', currency)
      .where('date', '=', date)
      .orderBy('until_at'),
  );
  const ofProduct = db.rows(({ product_id }: Bound<{ product_id: number }>) =>
    query
      .selectFrom('day')
      .selectAll()
      .where('product_id', '=', product_id)
      .orderBy('currency')
      .orderBy('date')
      .orderBy('until_at'),
  );
  const put = db.change(upsert('day', ['product_id', 'currency', 'date', 'until_at'], shown));
  // A statement of its own: it leaves the index alone, which is written only where something else differs.
  const recount = db.change((bound: Bound<DateKey & Stretch>) =>
    query
      .updateTable('day')
      .set(pick(bound, counts))
      .where('product_id', '=', bound.product_id)
      .where('currency', '=', bound.currency)
      .where('date', '=', bound.date)
      .where('until_at', '=', bound.until_at),
  );
  const drop = db.change(({ product_id, currency, date, until_at }: Bound<DateKey & { until_at: Instant }>) =>
    query
      .deleteFrom('day')
      .where('product_id', '=', product_id)
      .where('currency', '=', currency)
      .where('date', '=', date)
      .where('until_at', '=', until_at),
  );
  const move = db.change(({ product_id, currency, dates, window_id }: Bound<OfProduct & Moved>) =>
    query
      .updateTable('day')
      .set({ window_id })
      .where('product_id', '=', product_id)
      .where('currency', '=', currency)
      .where('date', 'in', listed<string>(dates)),
  );
  const dropBefore = db.change(({ product_id, currency, date }: Bound<DateKey>) =>
    query
      .deleteFrom('day')
      .where('product_id', '=', product_id)
      .where('currency', '=', currency)
      .where('date', '<', date),
  );
  return {
    ofDate: (key) => ofDate.all(key),
    ofProduct: (product_id) => ofProduct.all({ product_id }),
    replace: (key, before, after) => {
      const left = new Map(before.map((stretch) => [stretch.until_at, stretch]));
      for (const stretch of after) {
        const known = left.get(stretch.until_at);
        left.delete(stretch.until_at);
        const differing = shown.filter((column) => known?.[column] !== stretch[column]);
        if (known === undefined || differing.some((column) => !isCount.has(column))) put.run({ ...key, ...stretch });
        else if (differing.length > 0) recount.run({ ...key, ...stretch });
      }
      for (const until_at of left.keys()) drop.run({ ...key, until_at });
    },
    move: ({ product_id, currency }, dates, window_id) => {
      move.run({ product_id, currency, dates: JSON.stringify(dates), window_id });
    },
    prune: ({ product_id, currency }, date) => {
      dropBefore.run({ product_id, currency, date });
    },
  };
}

/** Returns the rows of a date of a span. `begins` tells when a minute of it begins, at the venue's clock. */
export function stretchesAt(
  window_id: number,
  form: DayForm | undefined,
  { types, begins }: { readonly types: VariantTypes; readonly begins: (minute: number) => number },
): Stretch[] {
  const at = (minute: number) => instant(minute === notBegun ? 0 : begins(minute));
  return stretchesOf(form, types)
    .map(({ from, until, counted_until, ...left }: DateStretch) => ({
      from_at: at(from),
      until_at: at(until),
      counted_until_at: at(counted_until),
      ...left,
      window_id,
    }))
    .filter(({ from_at, until_at }) => from_at < until_at);
}

/** Returns the row of a date that readers see, as the view `availability_days` does. */
export function shownAt(
  stretches: readonly Stretch[],
  { shut, now }: { readonly shut: number; readonly now: Instant },
): Stretch | undefined {
  const row = shut < 3 ? stretches.find(({ from_at, until_at }) => from_at <= now && now < until_at) : undefined;
  return row === undefined || shut === 0 ? row : { ...row, state: 'not_on_sale' };
}

/** Returns where products are, whom their variants are for, and whether their dates are shown and sold. */
export function dateSettings(db: Writes): (product_id: number) => DateSetting {
  const product = db.rows(({ product_id }: Bound<{ product_id: number }>) =>
    query.selectFrom('_product').select(['timezone', 'shut']).where('product_id', '=', product_id),
  );
  const typesOf = variantTypes(db);
  return (product_id) => ({
    ...(product.get({ product_id }) ?? { timezone: null, shut: 0 }),
    types: typesOf(product_id),
  });
}
