import type { VariantTypes } from '../catalogue/variant.rules.ts';
import { FeedingStore, type FoundBy } from '../feed/changes.store.ts';
import { type Instant, instant, minuteMs } from '../kernel/clock.ts';
import { type Bound, listed, Store, type Writes } from '../kernel/sqlite/statements.ts';
import { venueInstants } from '../kernel/time/venue-clock.ts';
import { byKey, dropBy, query, setBy, upsert } from '../mirror/sql/sql.ts';
import type { Tables } from '../mirror/sql/tables.ts';
import { type DayForm, wholeDay } from './availability.rules.ts';
import { type DateStretch, endOf, endOfDate, notBegun, stretchesOf } from './passed-times.rules.ts';
import { PrintedPrices } from './prices.store.ts';

/** Identifies a calendar: the dates of a product in a currency. */
export type OfProduct = { readonly product_id: number; readonly currency: string };

/** A date of a product in a currency. */
export type DateKey = OfProduct & { readonly date: string };

/** Dates from one to another, both included. */
export type Range = { readonly from: string; readonly to: string };

/** A row of a date: what is shown of it from one instant to another. */
export type Stretch = Omit<Tables['day'], keyof DateKey>;

/** Dates as a JSON array. */
type Moved = { readonly dates: string; readonly window_id: number };

const dateKey = ['product_id', 'currency', 'date'] as const;
const stretchKey = [...dateKey, 'until_at'] as const;

/** Columns that change with each ticket sold. No index has them. */
const counts = ['availability', 'counted_until_at'] as const;
const shown = ['from_at', 'state', 'lowest_price', 'lowest_adult_price', 'price_variant_type', 'max_tickets', ...counts, 'window_id'] as const; // biome-ignore format: a list of columns

const isCount: ReadonlySet<(typeof shown)[number]> = new Set(counts);

/** The rows of dates, each divided where its times begin that change more than the count of tickets. */
export class StretchTable extends Store<Writes> {
  readonly #inRange = this.db.rows(({ product_id, currency, from, to }: Bound<OfProduct & Range>) =>
    query
      .selectFrom('day')
      .select(['date', 'until_at', ...shown])
      .where('product_id', '=', product_id)
      .where('currency', '=', currency)
      .where('date', '>=', from)
      .where('date', '<=', to)
      .orderBy('date')
      .orderBy('until_at'),
  );
  /** Returns the rows of all dates of a product, in order. */
  readonly ofProduct = this.db.rows(({ product_id }: Bound<{ product_id: number }>) =>
    query
      .selectFrom('day')
      .selectAll()
      .where('product_id', '=', product_id)
      .orderBy('currency')
      .orderBy('date')
      .orderBy('until_at'),
  );
  readonly #put = this.db.change(upsert('day', stretchKey, shown));
  // A statement of its own: it leaves the index alone, which is written only where something else differs.
  readonly #recount = this.db.change(setBy('day', stretchKey, counts));
  readonly #drop = this.db.change(dropBy('day', stretchKey));
  readonly #move = this.db.change(({ product_id, currency, dates, window_id }: Bound<OfProduct & Moved>) =>
    query
      .updateTable('day')
      .set({ window_id })
      .where('product_id', '=', product_id)
      .where('currency', '=', currency)
      .where('date', 'in', listed<string>(dates)),
  );
  readonly #dropBefore = this.db.change(dropBefore('day'));

  /** Returns the rows of a range of dates by date, each in order. */
  inRange(of: OfProduct, range: Range): Map<string, Stretch[]> {
    return Map.groupBy(this.#inRange({ ...of, ...range }), ({ date }) => date);
  }

  /** Makes the rows of a date what `after` says. Writes only those that differ. */
  replace(key: DateKey, before: readonly Stretch[], after: readonly Stretch[]): void {
    const left = new Map(before.map((stretch) => [stretch.until_at, stretch]));
    for (const stretch of after) {
      const known = left.get(stretch.until_at);
      left.delete(stretch.until_at);
      const differing = shown.filter((column) => known?.[column] !== stretch[column]);
      if (known === undefined || differing.some((column) => !isCount.has(column))) this.#put({ ...key, ...stretch });
      else if (differing.length > 0) this.#recount({ ...key, ...stretch });
    }
    for (const until_at of left.keys()) this.#drop({ ...key, until_at });
  }

  /** Has dates belong to another span. */
  move({ product_id, currency }: OfProduct, dates: readonly string[], window_id: number): void {
    this.#move({ product_id, currency, dates: JSON.stringify(dates), window_id });
  }

  /** Forgets dates before one. */
  prune({ product_id, currency }: OfProduct, date: string): void {
    this.#dropBefore({ product_id, currency, date });
  }
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

/** A date with tickets as it is stored: the slots that a view shows, and the rest of what was answered of it. */
export type StoredSlots = Omit<Tables['slot_day'], keyof DateKey>;

const slotColumns = ['zero_at', 'ends', 'rest', 'slots'] as const;

/** The slots of dates. A date without tickets has no row. */
export class SlotTable extends Store<Writes> {
  readonly ofProduct = this.db.rows(({ product_id }: Bound<{ product_id: number }>) =>
    query.selectFrom('slot_day').selectAll().where('product_id', '=', product_id),
  );
  readonly #put = this.db.change(upsert('slot_day', dateKey, slotColumns));
  readonly #drop = this.db.change(dropBy('slot_day', dateKey));
  readonly #dropBefore = this.db.change(dropBefore('slot_day'));

  /** Null: the date has no tickets any more. */
  put(key: DateKey, slots: StoredSlots | null): void {
    if (slots === null) this.#drop(key);
    else this.#put({ ...key, ...slots });
  }

  /** Forgets dates before one. */
  prune({ product_id, currency }: OfProduct, date: string): void {
    this.#dropBefore({ product_id, currency, date });
  }
}

/** Returns whether a date with tickets is stored as it is now. */
export function isStoredAs(stored: StoredSlots, next: StoredSlots): boolean {
  return slotColumns.every((column) => stored[column] === next[column]);
}

/**
 * Returns a date as it is stored. A slot is not sold any more so many minutes after `zero_at` as its time says. Where clocks
 * change between two of its slots, `ends` has the instant of each.
 */
export function slotsOf([availability, zone, slots, extra]: DayForm, begins: (minute: number) => number): StoredSlots {
  const [[time = 0] = []] = slots;
  const zero_at = instant(slots.length === 0 ? 0 : begins(endOf(time)) - endOf(time) * minuteMs);
  const isEven = slots.every(([time]) => begins(endOf(time)) === zero_at + endOf(time) * minuteMs);
  return {
    zero_at,
    ends: isEven ? null : JSON.stringify(slots.map(([time]) => begins(endOf(time)))),
    rest: JSON.stringify(extra === undefined ? [availability, zone] : [availability, zone, extra]),
    slots: packed(slots),
  };
}

/** Returns slots as JSON: a time as the minute of its end, and instead of equal offers the place of the first slot with them. */
function packed(slots: DayForm[2]): string {
  return JSON.stringify(
    slots.map(([time, availability, offers, ...extra], place) => {
      const first = slots.findIndex(([, , each], index) => index === place || areEqual(each, offers));
      const end = typeof time === 'number' ? endOf(time) : time;
      return [end, availability, first === place ? offers : first, ...extra];
    }),
  );
}

/** Compares values that JSON can have. */
function areEqual(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (!Array.isArray(one) || !Array.isArray(other))
    return typeof one === 'object' && JSON.stringify(one) === JSON.stringify(other);
  return one.length === other.length && one.every((each, index) => areEqual(each, other[index]));
}

type Packed = [time: number | string, availability: number | null, offers: unknown, ...extra: unknown[]];

/** The inverse of `slotsOf`. */
export function formOf({ slots, rest }: Pick<StoredSlots, 'slots' | 'rest'>): DayForm {
  const form = JSON.parse(rest) as unknown[];
  const times = JSON.parse(slots) as Packed[];
  for (const slot of times) {
    if (slot[0] === endOfDate) slot[0] = wholeDay;
    if (typeof slot[2] === 'number') slot[2] = times[slot[2]]?.[2];
  }
  form.splice(2, 0, times);
  return form as readonly unknown[] as DayForm;
}

/** Returns the instants from which the slots of a date are not sold any more. */
function endsOf({ zero_at, ends, slots }: StoredSlots): number[] {
  if (ends !== null) return JSON.parse(ends) as number[];
  return (JSON.parse(slots) as Packed[]).map(([time]) => zero_at + endOf(time) * minuteMs);
}

/** Returns the removal of the dates of a product before one. */
function dropBefore(table: 'day' | 'slot_day') {
  return ({ product_id, currency, date }: Bound<DateKey>) =>
    query
      .deleteFrom(table)
      .where('product_id', '=', product_id)
      .where('currency', '=', currency)
      .where('date', '<', date);
}

/** Time zone of a product, the types of its variants, and whether its dates are shown and sold. */
export interface DateSetting {
  readonly shut: 0 | 1 | 2 | 3;
  readonly timezone: string | null;
  readonly types: VariantTypes;
}

/** Returns where products are, whom their variants are for, and whether their dates are shown and sold. */
export class DateSettings extends Store<Writes> {
  readonly #product = this.db.row(byKey('_product', ['product_id'], ['timezone', 'shut']));
  readonly #types = this.db.rows(({ product_id }: Bound<{ product_id: number }>) =>
    query
      .selectFrom(['_variant as v', '_mirror as m'])
      .select(['v.variant_id', (of) => of.ref('v.variant_type').$notNull().as('type')])
      .where('v.product_id', '=', product_id)
      .whereRef('v.language', '=', 'm.language')
      .where('v.variant_type', 'is not', null),
  );

  of(product_id: number): DateSetting {
    const types = this.#types({ product_id }).map(({ variant_id, type }) => [variant_id, type] as const);
    return { ...(this.#product({ product_id }) ?? { timezone: null, shut: 0 }), types: new Map(types) };
  }
}

/** Printed prices of dates that are already stored. */
export class Pricing extends FeedingStore {
  readonly #stretches = new StretchTable(this.db);
  readonly #slots = new SlotTable(this.db);
  readonly #settings = new DateSettings(this.db);
  readonly #printed = new PrintedPrices(this.db);
  readonly #unpriced = this.db.values(({ limit }: Bound<{ limit: number }>) =>
    query.selectFrom('_unpriced').select('product_id').orderBy('product_id').limit(limit),
  );
  readonly #drop = this.db.change(dropBy('_unpriced', ['product_id']));

  /** Prices the dates of a product, and divides them at their times, by whom its variants are for now and where it is. */
  again(product_id: number, by: FoundBy): void {
    const { timezone, types } = this.#settings.of(product_id);
    const keyOf = ({ currency, date }: { currency: string; date: string }) => `${currency} ${date}`;
    const known = new Map(this.#slots.ofProduct({ product_id }).map((row) => [keyOf(row), row]));
    const moved = new Map<string, string[]>();
    for (const before of Map.groupBy(this.#stretches.ofProduct({ product_id }), keyOf).values()) {
      const [first] = before;
      if (first === undefined) continue;
      const { currency, date } = first;
      const others = moved.getOrInsert(currency, []);
      const begins = venueInstants(timezone, date);
      const row = known.get(keyOf(first));
      const form = row === undefined ? undefined : formOf(row);
      const after = stretchesAt(first.window_id, form, { types, begins });
      // Each of its times has a price of its own: that of the whole date may be the same.
      this.#stretches.replace({ product_id, currency, date }, before, after);
      const next = form === undefined ? undefined : slotsOf(form, begins);
      if (next !== undefined && (row === undefined || !isStoredAs(row, next)))
        this.#slots.put({ product_id, currency, date }, next);
      const left = leftAt(by.sent_at);
      if (left(before, row) !== left(after, next)) others.push(date);
    }
    for (const [currency, others] of moved) {
      this.#printed.recompute({ product_id, currency });
      const found = { product_id, kind: 'slots_changed', detail: { currency, dates: others } } as const;
      if (others.length > 0) this.changes.add(found, by);
    }
  }

  /** Does so for products whose dates another version has stored, or that have moved, at most `limit` of them, in a transaction of its own. Returns whether more are left. */
  next(limit: number, by: FoundBy): boolean {
    const products = this.#unpriced({ limit });
    const price = (product_id: number) => {
      this.again(product_id, by);
      this.#drop({ product_id });
    };
    if (products.length > 0) this.db.transaction(() => products.forEach(price));
    return products.length === limit;
  }
}

/**
 * Returns as text what readers see of a date from an instant on: its prices, and how many of its times are left. A product
 * that has moved to another time zone has other ones left.
 */
function leftAt(at: Instant) {
  return (stretches: readonly Stretch[], slots: StoredSlots | undefined): string =>
    JSON.stringify([
      stretches
        .filter(({ until_at }) => until_at > at)
        .map(({ state, lowest_price, lowest_adult_price, price_variant_type }) => [
          state,
          lowest_price,
          lowest_adult_price,
          price_variant_type,
        ]),
      slots === undefined ? 0 : endsOf(slots).filter((ends_at) => ends_at > at).length,
    ]);
}
