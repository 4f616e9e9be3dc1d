import { type ChangeKind, markByRate } from '../feed/change.rules.ts';
import type { ChangeTable, FoundBy } from '../feed/changes.store.ts';
import { type Instant, instant } from '../kernel/clock.ts';
import { type Bound, type ExpressionBuilder, pick, Store, sql, type Writes } from '../kernel/sqlite/statements.ts';
import { addDays, datesBetween, daysBetween } from '../kernel/time/venue.ts';
import { minutesPassed, venueInstants } from '../kernel/time/venue-clock.ts';
import { secondOf } from '../mirror/sql/instants.ts';
import { byKey, dropBy, query, type Schema, setBy } from '../mirror/sql/sql.ts';
import type { Tables } from '../mirror/sql/tables.ts';
import { mayReplace } from '../schedule/record.rules.ts';
import {
  type AvailabilityAnswer,
  beyondFrom,
  cadenceOfDay,
  type DayForm,
  isNoticed,
  otherOffers,
  pricePairs,
  type Tiers,
  tierStarts,
} from './availability.rules.ts';
import { movedByRate } from './converted-price.rules.ts';
import {
  type DateKey,
  type DateSetting,
  DateSettings,
  formOf,
  isStoredAs,
  type OfProduct,
  type Range,
  SlotTable,
  type StoredSlots,
  type Stretch,
  StretchTable,
  slotsOf,
  stretchesAt,
} from './days.store.ts';
import { type DateState, timesLeft } from './passed-times.rules.ts';
import { PrintedPrices } from './prices.store.ts';

/** Metadata of an answer that repeats the last one: the instant of its request, and the day at the venue. */
export interface Confirmed extends OfProduct {
  readonly sent_at: Instant;
  readonly hash: string;
  readonly today: string;
  readonly tiers: Tiers;
}

/** Metadata of an availability answer, stored with its spans. */
export interface AnswerMeta extends Confirmed, FoundBy {
  readonly from: string;
  readonly now: Instant;
  /** True if any date of its window was read before. The change feed does not report dates that a first read adds. */
  readonly readBefore: boolean;
  /** Share by which the exchange rate may have moved its prices since the last read; left out: they are not converted. */
  readonly mostRateMove?: number;
}

/** A date as it was read last, before any of its times had begun. */
type StoredDay = DateOfSpan & (StoredSlots | Record<keyof StoredSlots, null>) & { readonly state: DateState };

/** `most`: how many tickets one may order; null: the service names no limit. */
type DatedRead = AnswerMeta & DateSetting & { readonly most: number | null };

/** `window_id`: the span that the date is in now. `byRate`: dates of the answer that differ only by the exchange rate. */
type DayRead = DatedRead & {
  readonly window_id: number;
  readonly byRate: ReadonlySet<string>;
  /** Returns the rows of a stored date. */
  readonly shownOn: (date: string) => readonly Stretch[];
};

/** The row of a date that readers see; undefined: they see none. */
type Shown = Stretch | undefined;

const printedColumns = ['lowest_adult_price', 'price_variant_type'] as const;

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

type WrittenSpan = Omit<Tables['date_window'], 'window_id' | 'shut' | 'shown_stale_at' | 'expired_at'>;
type StoredSpan = WrittenSpan & { readonly window_id: number };

const spanColumns = ['to_date', 'checked_at', 'stale_at', 'held_at', 'body_hash', 'max_tickets_per_order', 'variant_ids'] as const; // biome-ignore format: a list of columns

/** Facts of an answer that hold for all its dates. */
type SpanFacts = { readonly max_tickets_per_order: number | null; readonly variant_ids: string };

/** A stored date and the span that it belongs to. */
type DateOfSpan = { readonly date: string; readonly window_id: number };

/** The spans of a range of dates, before an answer is stored there. */
interface SpansInRange {
  /** Returns whether a date was read after the answer was sent: it stays as it is. */
  isNewer(date: string): boolean;
  /** Returns how many tickets an order could have on a date, as far as it had been read; undefined: it had not. */
  limitBefore(date: string): number | null | undefined;
  /**
   * Stores a span a tier, each stale after the cadence of its tier, and one for `uncounted` dates of a tier, which is stale
   * at once. Returns the span of each date.
   */
  put(facts: SpanFacts, dates: readonly string[], uncounted: ReadonlySet<string>): Map<string, number>;
}

type ReadAt = { readonly product_id: number; readonly checked_at: Instant };

/**
 * Spans of stored dates (table `date_window`): one for each tier of an answer, with the instants at which it was read and
 * becomes stale. Each stored date belongs to one span, which may have gaps. A span is not the window of a record, which is
 * requested as a whole.
 */
class DateSpanTable extends Store<Writes> {
  protected readonly stretches = new StretchTable(this.db);
  readonly #overlapping = this.db.rows(({ product_id, currency, from, to }: Bound<OfProduct & Range>) =>
    query
      .selectFrom('date_window')
      .select(['window_id', 'product_id', 'currency', 'from_date', ...spanColumns])
      .where('product_id', '=', product_id)
      .where('currency', '=', currency)
      .where('from_date', '<=', to)
      .where('to_date', '>=', from),
  );
  readonly #datesWithin = this.db.values((bound: Bound<OfProduct & Range & { window_id: number }>) =>
    datesIn(bound)
      .select('date')
      .where('from_at', '=', notBegun)
      .where('window_id', '=', bound.window_id)
      .orderBy('date'),
  );
  readonly #add = this.db.insert((bound: Bound<WrittenSpan>) =>
    query.insertInto('date_window').values((of) => ({
      ...pick(bound, ['product_id', 'currency', 'from_date', ...spanColumns]),
      shut: of.selectFrom('_product as p').select('p.shut').where('p.product_id', '=', bound.product_id),
    })),
  );
  readonly #change = this.db.change(setBy('date_window', ['window_id'], spanColumns));
  // A statement of its own: the index is written only where the first date differs.
  readonly #begin = this.db.change(setBy('date_window', ['window_id'], ['from_date']));
  readonly #drop = this.db.change(dropBy('date_window', ['window_id']));
  readonly #dropBefore = this.db.change(({ product_id, currency, date }: Bound<DateKey>) =>
    query
      .deleteFrom('date_window')
      .where('product_id', '=', product_id)
      .where('currency', '=', currency)
      .where('to_date', '<', date),
  );
  readonly #clip = this.db.change(({ product_id, currency, date }: Bound<DateKey>) =>
    query
      .updateTable('date_window')
      .set({ from_date: date })
      .where('product_id', '=', product_id)
      .where('currency', '=', currency)
      .where('from_date', '<', date),
  );
  readonly #confirm = this.db.change((bound: Bound<Confirmed & TierBounds>) =>
    query
      .updateTable('date_window')
      .set((of) => ({
        stale_at: sql<Instant>`${bound.sent_at} + ${cadenceOfSpan(of, bound)}`,
        checked_at: bound.sent_at,
        held_at: null,
      }))
      .where('product_id', '=', bound.product_id)
      .where('currency', '=', bound.currency)
      .where('body_hash', '=', bound.hash),
  );
  readonly #readAts = this.db.values(({ product_id }: Bound<{ product_id: number }>) =>
    query.selectFrom('date_window').select('checked_at').distinct().where('product_id', '=', product_id),
  );
  readonly #moveStaleAt = this.db.change((bound: Bound<ReadAt & TierBounds>) => {
    const stale_at = (of: OfSpan) => sql<Instant>`${bound.checked_at} + ${cadenceOfSpan(of, bound)}`;
    return query
      .updateTable('date_window')
      .set((of) => ({ stale_at: stale_at(of) }))
      .where('product_id', '=', bound.product_id)
      .where('checked_at', '=', bound.checked_at)
      .where((of) => of('stale_at', '<>', stale_at(of)));
  });
  readonly #known = this.db.value((bound: Bound<OfProduct & Range>) => datesIn(bound).select('date').limit(1));
  readonly #variants = this.db.values(byKey('date_window', ['product_id'], ['variant_ids']));

  /** Records that the same bytes came again: all dates of that answer were read at `sent_at`. */
  confirm(read: Confirmed): void {
    this.#confirm({ ...read, ...tierBounds(read.tiers, read.today) });
  }

  /** Moves `stale_at` of a product's spans after a cadence has changed. `todayAt`: the venue's day at an instant. */
  moveStaleAt(product_id: number, tiers: Tiers, todayAt: (at: Instant) => string): void {
    for (const checked_at of this.#readAts({ product_id }))
      this.#moveStaleAt({ product_id, checked_at, ...tierBounds(tiers, todayAt(checked_at)) });
  }

  /** Returns whether a date of the range, both ends included, was ever read. */
  wasRead({ product_id, currency }: OfProduct, from: string, to: string): boolean {
    return this.#known({ product_id, currency, from, to }) !== null;
  }

  /** Returns the variants that the stored answers of a product speak of, over all its spans. */
  variantIds(product_id: number): Set<number> {
    return new Set(this.#variants({ product_id }).flatMap((variant_ids) => JSON.parse(variant_ids) as number[]));
  }

  /** Forgets dates before one. */
  prune({ product_id, currency }: OfProduct, date: string): void {
    this.#dropBefore({ product_id, currency, date });
    this.#clip({ product_id, currency, date });
  }

  /** Returns the spans where an answer is to be stored. `stored`: the stored dates of its range. */
  protected spansIn(read: AnswerMeta, to: string, stored: readonly DateOfSpan[]): SpansInRange {
    const { from, sent_at } = read;
    const spans = new Map(
      this.#overlapping({ product_id: read.product_id, currency: read.currency, from, to }).map((each) => [
        each.window_id,
        each,
      ]),
    );
    const before = new Map(stored.map(({ date, window_id }) => [date, spans.get(window_id)]));
    const isOlder = ({ checked_at }: StoredSpan) => mayReplace(checked_at, sent_at);
    const isNewer = (date: string) => {
      const span = before.get(date);
      return span !== undefined && !isOlder(span);
    };
    return {
      isNewer,
      limitBefore: (date) => before.get(date)?.max_tickets_per_order,
      put: (of, dates, uncounted) => {
        const within = Map.groupBy([...before.values()], (span) => span?.window_id);
        const unused = new Set<number>();
        for (const span of spans.values())
          if (isOlder(span) && this.#separate(span, { from, to }, within.get(span.window_id)?.length ?? 0))
            unused.add(span.window_id);
        const belonging = new Map<string, number>();
        for (const tier of byTier(read, dates, uncounted)) {
          const { each } = tier;
          const counts = Map.groupBy(each, (date) => before.get(date)?.window_id);
          const [known] = [...unused].sort((a, b) => (counts.get(b)?.length ?? 0) - (counts.get(a)?.length ?? 0));
          const span = { ...spanOf(read, of, tier), from_date: each[0] ?? from, to_date: each.at(-1) ?? to };
          const old = known === undefined ? undefined : spans.get(known);
          const window_id = old?.window_id ?? this.#insert(span);
          if (old !== undefined) this.#replace(old, { ...span, window_id });
          unused.delete(window_id);
          for (const date of each) belonging.set(date, window_id);
        }
        for (const window_id of unused) this.#drop({ window_id });
        return belonging;
      },
    };
  }

  /**
   * Separates the dates of a range from a stored span that has others too, by moving the fewer ones. If those outside the
   * range are fewer, they get a copy of the span, and the span is free for the answer: true. Otherwise the span keeps them.
   */
  #separate(span: StoredSpan, { from, to }: Range, within: number): boolean {
    if (from <= span.from_date && span.to_date <= to) return true;
    const all = { ...span, from: span.from_date, to: span.to_date };
    const others = this.#datesWithin(all).filter((date) => date < from || date > to);
    const [first, last] = [others[0], others.at(-1)];
    if (first === undefined || last === undefined) return true;
    const rest = { ...span, from_date: first, to_date: last };
    if (others.length < within) {
      this.stretches.move(span, others, this.#insert(rest));
      return true;
    }
    if (within > 0) this.#replace(span, rest);
    return false;
  }

  #replace(known: StoredSpan, span: StoredSpan): void {
    this.#change(span);
    if (known.from_date !== span.from_date) this.#begin(span);
  }

  #insert(span: WrittenSpan): number {
    return this.#add(span);
  }
}

/** Selects from the rows of a range of dates. */
function datesIn({ product_id, currency, from, to }: Bound<OfProduct & Range>) {
  return query
    .selectFrom('day')
    .where('product_id', '=', product_id)
    .where('currency', '=', currency)
    .where('date', '>=', from)
    .where('date', '<=', to);
}

/** The first dates of the later tiers, and the cadence of each tier. */
interface TierBounds {
  readonly middle_from: string;
  readonly far_from: string;
  readonly beyond_from: string;
  readonly near: number;
  readonly middle: number;
  readonly far: number;
  readonly beyond: number;
}

/** After every date. */
const never = '9999-12-31';

function tierBounds(tiers: Tiers, today: string): TierBounds {
  const { near, middle, far } = tiers;
  const beyond = beyondFrom(tiers);
  return {
    ...{ middle_from: addDays(today, near.days), far_from: addDays(today, middle.days) },
    beyond_from: Number.isFinite(beyond) ? addDays(today, beyond) : never,
    ...{ near: near.every, middle: middle.every, far: far.every, beyond: cadenceOfDay(tiers, beyond) },
  };
}

type OfSpan = ExpressionBuilder<Schema, 'date_window'>;

/** Returns the cadence of a stored span: that of the tier of its first date. */
function cadenceOfSpan(
  of: OfSpan,
  { middle_from, far_from, beyond_from, near, middle, far, beyond }: Bound<TierBounds>,
) {
  return of
    .case()
    .when('from_date', '<', middle_from)
    .then(near)
    .when('from_date', '<', far_from)
    .then(middle)
    .when('from_date', '<', beyond_from)
    .then(far)
    .else(beyond)
    .end();
}

/** Dates of a tier, with its cadence. */
interface OfTier {
  readonly each: readonly string[];
  readonly stale_after: number;
  /** False: a count of these dates cannot be read. */
  readonly isCounted: boolean;
}

/** Returns the dates of each tier, and its uncounted ones by themselves. */
function byTier(
  { today, tiers }: Readonly<{ today: string; tiers: Tiers }>,
  dates: readonly string[],
  uncounted: ReadonlySet<string>,
): OfTier[] {
  const starts = tierStarts(tiers);
  const startOf = (date: string) => starts.findLast((start) => start <= daysBetween(today, date)) ?? 0;
  return [dates.filter((date) => !uncounted.has(date)), dates.filter((date) => uncounted.has(date))].flatMap(
    (some, index) =>
      [...Map.groupBy(some, startOf).values()].map((each) => ({
        each,
        stale_after: cadenceOfDay(tiers, daysBetween(today, each[0] ?? today)),
        isCounted: index === 0,
      })),
  );
}

function spanOf(
  { product_id, currency, sent_at, hash: body_hash }: AnswerMeta,
  of: SpanFacts,
  { stale_after, isCounted }: OfTier,
) {
  const held_at = isCounted ? null : secondOf(sent_at);
  return {
    product_id,
    currency,
    body_hash,
    checked_at: sent_at,
    stale_at: instant(sent_at + stale_after),
    held_at,
    ...of,
  };
}

/** Dates, their slots and the spans that say when each was read. */
export class AvailabilityTables extends DateSpanTable {
  readonly #slots = new SlotTable(this.db);
  readonly #printed = new PrintedPrices(this.db);
  readonly #settings = new DateSettings(this.db);
  readonly #inRange = this.db.rows(({ product_id, currency, from, to }: Bound<OfProduct & Range>) =>
    query
      .selectFrom('day as d')
      .leftJoin('slot_day as s', (join) =>
        join
          .onRef('s.product_id', '=', 'd.product_id')
          .onRef('s.currency', '=', 'd.currency')
          .onRef('s.date', '=', 'd.date'),
      )
      .select(['d.date', 'd.window_id', 'd.state', 's.zero_at', 's.ends', 's.rest', 's.slots'])
      .where('d.product_id', '=', product_id)
      .where('d.currency', '=', currency)
      .where('d.date', '>=', from)
      .where('d.date', '<=', to)
      .where('d.from_at', '=', notBegun),
  );
  readonly #shown = this.db.row((bound: Bound<OfProduct & Range>) =>
    datesIn(bound)
      .select(({ fn }) => [
        fn.countAll<number>().filterWhere('state', '=', 'available').as('dates'),
        fn.min<number | null>('lowest_price').filterWhere('state', '=', 'available').as('lowest_price'),
        fn.max<string | null>('date').as('last'),
      ])
      .where('from_at', '=', notBegun),
  );
  readonly #changes: ChangeTable;

  constructor(db: Writes, changes: ChangeTable) {
    super(db);
    this.#changes = changes;
  }

  /**
   * Stores an answer, priced by whom its variants are for: store those first. Days that are stored as they are now are
   * not written. `changed`: days that differ from what was stored, `noticed`: the dates of those in which a shopper would
   * notice it, `byRate`: how many of these the exchange rate alone has changed, `added`: days that had no row.
   */
  store(
    read: AnswerMeta,
    answer: AvailabilityAnswer,
  ): { changed: number; noticed: string[]; byRate: number; added: number } {
    const { product_id, currency, from } = read;
    const { covered_to: to, max_tickets_per_order, variants, uncounted = new Set() } = answer;
    const counts = { changed: 0, noticed: [] as string[], byRate: 0, added: 0 };
    if (to < from) return counts;
    const stored = new Map(this.#stored({ product_id, currency }, from, to).map((day) => [day.date, day]));
    const { isNewer, limitBefore, put } = this.spansIn(read, to, [...stored.values()]);
    const variant_ids = JSON.stringify(variants.map(({ variant_id }) => variant_id));
    const dates = datesBetween(from, to).filter((date) => !isNewer(date));
    const setting = { ...read, ...this.#settings.of(product_id), most: max_tickets_per_order };
    const dated = { ...setting, byRate: datesByRate(stored.values(), answer.days, setting) };
    const moved: string[] = [];
    // Read when a date differs: of most answers none does.
    let shown: Map<string, Stretch[]> | null = null;
    const shownOn = (date: string) => {
      shown ??= this.stretches.inRange({ product_id, currency }, { from, to });
      return shown.get(date) ?? [];
    };
    for (const [date, window_id] of put({ max_tickets_per_order, variant_ids }, dates, uncounted)) {
      const before = stored.get(date);
      const key = { product_id, currency, date };
      const { differs, noticed } = this.#storeDay(key, answer.days.get(date), before, { ...dated, window_id, shownOn });
      // A changed number of tickets per order is owed an entry too, also of a date that is otherwise the same.
      if (differs === 'offers' || (differs !== 'state' && limitBefore(date) !== max_tickets_per_order))
        moved.push(date);
      if (differs === 'nothing') continue;
      if (before === undefined) counts.added += 1;
      else counts.changed += 1;
      if (noticed) counts.noticed.push(date);
      if (noticed && dated.byRate.has(date)) counts.byRate += 1;
    }
    if (moved.length > 0 && dated.shut < 3)
      this.#changes.add({ product_id, kind: 'slots_changed', detail: { currency, dates: moved } }, read);
    if (counts.added + counts.changed > 0) this.#printed.recompute({ product_id, currency });
    return counts;
  }

  /**
   * Stores as sold out in another currency the dates of a range that are sold out in that of the read, as far as they
   * were read there before it. Returns how many.
   */
  soldOutIn(currency: string, read: AnswerMeta, to: string): number {
    const { product_id, from } = read;
    const gone = new Set(
      this.#stored({ product_id, currency: read.currency }, from, to).flatMap(({ date, state }) =>
        state === 'available' ? [] : [date],
      ),
    );
    const shown = this.#stored({ product_id, currency }, from, to).filter(({ state }) => state === 'available');
    let stored = 0;
    for (const { date } of shown.filter((day) => gone.has(day.date)))
      stored += this.store({ ...read, currency, from: date, readBefore: true }, soldOutOn(date)).changed;
    return stored;
  }

  /**
   * Returns how many dates of a range can be bought, their lowest price in minor units (null: none is known), and the last
   * date that was read, sold out or not (null: none was).
   */
  shown(of: OfProduct, from: string, to: string): ShownDates {
    return this.#shown({ ...of, from, to }) ?? { dates: 0, lowest_price: null, last: null };
  }

  /** Forgets dates before the venue's today. */
  override prune(of: OfProduct, today: string): void {
    this.stretches.prune(of, today);
    this.#slots.prune(of, today);
    super.prune(of, today);
  }

  /** From one date to another, both included. */
  #stored(of: OfProduct, from: string, to: string): StoredDay[] {
    // The columns of its times are null together.
    return this.#inRange({ ...of, from, to }) as StoredDay[];
  }

  /** A date that is stored as it is now is not written. */
  #storeDay(key: DateKey, form: DayForm | undefined, stored: StoredDay | undefined, read: DayRead): DayStored {
    const begins = venueInstants(read.timezone, key.date);
    const next = form === undefined ? null : slotsOf(form, begins);
    const { window_id } = read;
    const known = stored === undefined || stored.slots === null ? null : stored;
    if (stored !== undefined && (known === null || next === null ? known === next : isStoredAs(known, next))) {
      if (stored.window_id !== window_id) this.stretches.move(key, [key.date], window_id);
      return same;
    }
    const before = known === null ? undefined : formOf(known);
    const after = stretchesAt(window_id, form, { types: read.types, begins });
    if (known !== null || next !== null) this.#slots.put(key, next);
    const earlier = stored === undefined ? [] : read.shownOn(key.date);
    this.stretches.replace(key, earlier, after);
    const [was, is] = [shownAt(earlier, read), shownAt(after, read)];
    // A stored date is reported even in a first read: a product that returns has new records over old rows.
    const told = stored !== undefined || read.readBefore ? tellDay(this.#changes, key, { was, is, read }) : null;
    const noticed = stored !== undefined && isSeen(key.date, before, form, read);
    if (told !== null && told !== 'price_changed') return { differs: 'state', noticed };
    const offersDiffer = stored === undefined || otherOffers(before, form);
    return { differs: offersDiffer || differsUntold(was, is, told) ? 'offers' : 'counts', noticed };
  }
}

/** Returns what an answer would say of a date without tickets. */
function soldOutOn(date: string): AvailabilityAnswer {
  const nothing = { named: null, max_tickets_per_order: null, days: new Map(), variants: [], groups: [], rest: {} };
  return { sales_enabled: true, covered_to: date, ...nothing };
}

function isSeen(date: string, before: DayForm | undefined, after: DayForm | undefined, read: DayRead): boolean {
  const [was, is] = leftOf(date, [before, after], read);
  return isNoticed(was, is, read.most);
}

type Forms = readonly [before: DayForm | undefined, after: DayForm | undefined];

/** Returns a stored and a read date without the times that have begun. */
function leftOf(date: string, [before, after]: Forms, { today, timezone, now }: DatedRead): Forms {
  if (date > today) return [before, after];
  const passed = minutesPassed(timezone, date, now);
  return [timesLeft(before, passed), timesLeft(after, passed)];
}

/** Returns the dates of an answer that differ from the stored ones only by the exchange rate. */
function datesByRate(
  stored: Iterable<StoredDay>,
  answer: ReadonlyMap<string, DayForm>,
  read: DatedRead,
): ReadonlySet<string> {
  const { mostRateMove: most } = read;
  if (most === undefined) return new Set();
  const priced = [...stored].flatMap((day) => {
    const { date, window_id } = day;
    if (day.slots === null) return [];
    const pairs = pricePairs(...leftOf(date, [formOf(day), answer.get(date)], read), read.most);
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

/** Returns the row of a date that readers see, as the view `availability_days` does. */
function shownAt(
  stretches: readonly Stretch[],
  { shut, now }: { readonly shut: number; readonly now: Instant },
): Stretch | undefined {
  const row = shut < 3 ? stretches.find(({ from_at, until_at }) => from_at <= now && now < until_at) : undefined;
  return row === undefined || shut === 0 ? row : { ...row, state: 'not_on_sale' };
}
