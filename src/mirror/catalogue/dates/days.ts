import { instant } from '../../../clock.ts';
import { type DayForm, isNoticed, otherOffers, pricePairs } from '../../../domain/catalogue/availability.ts';
import { movedByRate } from '../../../domain/catalogue/converted-price.ts';
import { timesLeft } from '../../../domain/catalogue/passed-times.ts';
import { type ChangeKind, markByRate } from '../../../domain/changes/change.ts';
import { minutesPassed, venueInstants } from '../../../domain/time/venue-clock.ts';
import type { Bound, Writes } from '../../../sqlite/statements.ts';
import type { ChangeTable } from '../../changes/changes.ts';
import { query } from '../../sql/sql.ts';
import type { Tables } from '../../sql/tables.ts';
import type { AnswerMeta, OfProduct } from './answer-meta.ts';
import { formOf, type StoredSlots, slotsOf, slotTable } from './slots.ts';
import { type DateKey, type DateSetting, type Stretch, shownAt, stretchesAt, stretchTable } from './stretches.ts';

/** A date as it was read last, before any of its times had begun. */
export type StoredDay = Pick<Tables['day'], 'date' | 'window_id' | 'state'> & {
  [Column in keyof StoredSlots]: StoredSlots[Column] | null;
};

/** The row of a date that readers see; undefined: they see none. */
type Shown = Pick<Stretch, 'state' | 'lowest_price' | (typeof printedColumns)[number]> | undefined;

const printedColumns = ['lowest_adult_price', 'price_variant_type'] as const;

/**
 * `most`: how many tickets one may order; null: the service names no limit. `window_id`: the span (date-spans.ts) that the
 * date is in now.
 */
type DayRead = AnswerMeta &
  DateSetting & {
    readonly most: number | null;
    readonly window_id: number;
    /** Dates of the answer that differ only by the exchange rate. */
    readonly byRate: ReadonlySet<string>;
  };

/** Difference between a read date and the stored one. */
interface DayStored {
  /**
   * The kind of difference. It decides whether the change feed still needs an entry. `state`: `date_added`, `date_back` or
   * `date_sold_out` was added. `counts`: only the tickets left differ, which has none. `offers`: times or prices differ, it
   * differs while readers cannot book it, or it has its first row: `slots_changed` is owed, also where `price_changed` was
   * added.
   */
  readonly differs: 'nothing' | 'counts' | 'state' | 'offers';
  /** True if a shopper who saw the stored date would notice the difference. Today, only what has not begun counts. */
  readonly noticed: boolean;
}

/** The row of a date before any of its times has begun. */
const notBegun = instant(0);

const same: DayStored = { differs: 'nothing', noticed: false };

interface ShownDates {
  readonly dates: number;
  readonly lowest_price: number | null;
  readonly last: string | null;
}

/** Dates with what is offered on them. */
export interface DayTable {
  /** From one date to another, both included. */
  stored(of: OfProduct, from: string, to: string): StoredDay[];
  /**
   * Returns how many dates of a range can be bought, their lowest price in minor units (null: none is known), and the last
   * date that was read, sold out or not (null: none was).
   */
  shown(of: OfProduct, from: string, to: string): ShownDates;
  /** A date that is stored as it is now is not written. */
  store(key: DateKey, form: DayForm | undefined, stored: StoredDay | undefined, read: DayRead): DayStored;
  /** Has dates belong to another span. */
  move(of: OfProduct, dates: readonly string[], window_id: number): void;
  /** Forgets dates before one. */
  prune(of: OfProduct, date: string): void;
}

export function dayTable(db: Writes, changes: ChangeTable): DayTable {
  const stretches = stretchTable(db);
  const slots = slotTable(db);
  const inRange = db.rows(({ product_id, currency, from, to }: Bound<OfProduct & { from: string; to: string }>) =>
    query
      .selectFrom('day as d')
      .leftJoin('slot_day as s', (join) =>
        join
          .onRef('s.product_id', '=', 'd.product_id')
          .onRef('s.currency', '=', 'd.currency')
          .onRef('s.date', '=', 'd.date'),
      )
      .select(['d.date', 'd.window_id', 'd.state', 's.slots', 's.rest'])
      .where('d.product_id', '=', product_id)
      .where('d.currency', '=', currency)
      .where('d.date', '>=', from)
      .where('d.date', '<=', to)
      .where('d.from_at', '=', notBegun),
  );
  const shown = db.rows(({ product_id, currency, from, to }: Bound<OfProduct & { from: string; to: string }>) =>
    query
      .selectFrom('day')
      .select(({ fn }) => [
        fn.countAll<number>().filterWhere('state', '=', 'available').as('dates'),
        fn.min<number | null>('lowest_price').filterWhere('state', '=', 'available').as('lowest_price'),
        fn.max<string | null>('date').as('last'),
      ])
      .where('product_id', '=', product_id)
      .where('currency', '=', currency)
      .where('date', '>=', from)
      .where('date', '<=', to)
      .where('from_at', '=', notBegun),
  );

  return {
    move: stretches.move,
    stored: (of, from, to) => inRange.all({ ...of, from, to }),
    shown: (of, from, to) => shown.get({ ...of, from, to }) ?? { dates: 0, lowest_price: null, last: null },
    store: (key, form, stored, read) => {
      const begins = venueInstants(read.timezone, key.date);
      const next = form === undefined ? null : slotsOf(form, begins);
      const { window_id } = read;
      if (stored !== undefined && stored.slots === (next?.slots ?? null) && stored.rest === (next?.rest ?? null)) {
        if (stored.window_id !== window_id) stretches.move(key, [key.date], window_id);
        return same;
      }
      const { slots: known, rest } = stored ?? { slots: null, rest: null };
      const before = known === null || rest === null ? undefined : formOf({ slots: known, rest });
      const after = stretchesAt(window_id, form, { types: read.types, begins });
      if (known !== null || next !== null) slots.put(key, next);
      const earlier = stored === undefined ? [] : stretches.ofDate(key);
      stretches.replace(key, earlier, after);
      const [was, is] = [shownAt(earlier, read), shownAt(after, read)];
      // A stored date is reported even in a first read: a product that returns has new records over old rows.
      const told = stored !== undefined || read.readBefore ? tellDay(changes, key, { was, is, read }) : null;
      const noticed = stored !== undefined && isSeen(key.date, before, form, read);
      if (told !== null && told !== 'price_changed') return { differs: 'state', noticed };
      const offersDiffer = stored === undefined || otherOffers(before, form);
      return { differs: offersDiffer || differsUntold(was, is, told) ? 'offers' : 'counts', noticed };
    },
    prune: ({ product_id, currency }, date) => {
      for (const rows of [stretches, slots]) rows.prune({ product_id, currency }, date);
    },
  };
}

function isSeen(date: string, before: DayForm | undefined, after: DayForm | undefined, read: DayRead): boolean {
  const [was, is] = leftOf(date, [before, after], read);
  return isNoticed(was, is, read.most);
}

type Forms = readonly [before: DayForm | undefined, after: DayForm | undefined];

/** Returns a stored and a read date without the times that have begun. */
function leftOf(
  date: string,
  [before, after]: Forms,
  { today, timezone, now }: Pick<DayRead, 'today' | 'timezone' | 'now'>,
): Forms {
  if (date > today) return [before, after];
  const passed = minutesPassed(timezone, date, now);
  return [timesLeft(before, passed), timesLeft(after, passed)];
}

/** Returns the dates of an answer that differ from the stored ones only by the exchange rate. */
export function datesByRate(
  stored: Iterable<StoredDay>,
  answer: ReadonlyMap<string, DayForm>,
  read: AnswerMeta & Pick<DayRead, 'timezone' | 'most'>,
): ReadonlySet<string> {
  const { mostRateMove: most } = read;
  if (most === undefined) return new Set();
  const priced = [...stored].flatMap(({ date, window_id, slots, rest }) => {
    if (slots === null || rest === null) return [];
    const pairs = pricePairs(...leftOf(date, [formOf({ slots, rest }), answer.get(date)], read), read.most);
    return pairs === null ? [] : [{ date, window_id, pairs }];
  });
  // Those that were read together last have moved together: another window may have brought the last date of this one.
  return new Set(
    [...Map.groupBy(priced, ({ window_id }) => window_id).values()].flatMap((dates) =>
      movedByRate(dates, most).map(({ date }) => date),
    ),
  );
}

/**
 * Returns whether columns differ that no change has announced. The cheapest time of an adult may sell out while a child's is the
 * lowest.
 */
function differsUntold(was: Shown, is: Shown, told: ChangeKind | null): boolean {
  const columns = told === null ? (['state', 'lowest_price', ...printedColumns] as const) : printedColumns;
  return columns.some((column) => was?.[column] !== is?.[column]);
}

/** Adds what readers see differ in state and lowest price, which the older kinds announce. Returns the kind. */
function tellDay(
  changes: ChangeTable,
  { product_id, currency, date }: DateKey,
  { was, is, read }: { readonly was: Shown; readonly is: Shown; readonly read: DayRead },
): ChangeKind | null {
  const kind = dayChange(was, is);
  if (kind === null) return null;
  const sideOf = kind === 'price_changed' ? (shown: Shown) => shown?.lowest_price ?? null : stateOf;
  const detail = { currency, old: sideOf(was), new: sideOf(is), ...markByRate(read.byRate.has(date)) };
  changes.add({ product_id, kind, date, detail }, read);
  return kind;
}

function dayChange(was: Shown, is: Shown): ChangeKind | null {
  const isAvailable = is?.state === 'available';
  if (was === undefined) return isAvailable ? 'date_added' : null;
  if ((was.state === 'available') !== isAvailable) return isAvailable ? 'date_back' : 'date_sold_out';
  return isAvailable && was.lowest_price !== is.lowest_price ? 'price_changed' : null;
}

function stateOf(shown: Shown) {
  return shown === undefined ? null : { state: shown.state, lowest_price: shown.lowest_price };
}
