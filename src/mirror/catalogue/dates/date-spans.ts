import { type Instant, instant } from '../../../clock.ts';
import { beyondFrom, cadenceOfDay, type Tiers, tierStarts } from '../../../domain/catalogue/availability.ts';
import { mayReplace } from '../../../domain/schedule/record.ts';
import { addDays, daysBetween } from '../../../domain/time/dates.ts';
import { type Bound, type ExpressionBuilder, pick, sql, type Writes } from '../../../sqlite/statements.ts';
import { query, type Schema } from '../../sql/sql.ts';
import type { Tables } from '../../sql/tables.ts';
import type { AnswerMeta, OfProduct } from './answer-meta.ts';

type StoredSpan = Omit<Tables['date_window'], 'shut' | 'shown_stale_at' | 'expired_at'>;
type Written = Omit<StoredSpan, 'window_id'>;
type Range = { readonly from: string; readonly to: string };

const facts = ['to_date', 'checked_at', 'stale_at', 'held_at', 'body_hash', 'max_tickets_per_order', 'variant_ids'] as const; // biome-ignore format: a list of columns

/** Facts of an answer that hold for all its dates. */
export type SpanFacts = Pick<StoredSpan, 'max_tickets_per_order' | 'variant_ids'>;

/** A stored date and the span that it belongs to. */
export type DateOfSpan = Pick<Tables['day'], 'date' | 'window_id'>;

/** The spans of a range of dates, before an answer is stored there. */
export interface SpansInRange {
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

/**
 * Spans of stored dates (table `date_window`): one for each tier of an answer, with the instants at which it was read and
 * becomes stale. Each stored date belongs to one span, which may have gaps. A span is not the window of a record, which is
 * requested as a whole.
 */
export interface DateSpanTable {
  /** Returns the spans where an answer is to be stored. `stored`: the stored dates of its range. */
  spansIn(read: AnswerMeta, to: string, stored: readonly DateOfSpan[]): SpansInRange;
  /** Records that the same bytes came again: all dates of that answer were read at `sent_at`. */
  confirm(read: Pick<AnswerMeta, 'product_id' | 'currency' | 'hash' | 'sent_at' | 'today' | 'tiers'>): void;
  /** Moves `stale_at` of a product's spans after a cadence has changed. `todayAt`: the venue's day at an instant. */
  moveStaleAt(product_id: number, tiers: Tiers, todayAt: (at: Instant) => string): void;
  /** Returns whether a date of the range, both ends included, was ever read. */
  wasRead(of: OfProduct, from: string, to: string): boolean;
  /** Returns the variants that the stored answers of a product speak of, over all its spans. */
  variantIds(product_id: number): Set<number>;
  /** Forgets dates before one. */
  prune(of: OfProduct, date: string): void;
}

export function dateSpanTable(
  db: Writes,
  move: (of: OfProduct, dates: readonly string[], window_id: number) => void,
): DateSpanTable {
  const overlapping = db.rows(({ product_id, currency, from, to }: Bound<OfProduct & Range>) =>
    query
      .selectFrom('date_window')
      .select(['window_id', 'product_id', 'currency', 'from_date', ...facts])
      .where('product_id', '=', product_id)
      .where('currency', '=', currency)
      .where('from_date', '<=', to)
      .where('to_date', '>=', from),
  );
  const datesWithin = db.values(
    ({ product_id, currency, window_id, from, to }: Bound<OfProduct & Range & { window_id: number }>) =>
      query
        .selectFrom('day')
        .select('date')
        .where('product_id', '=', product_id)
        .where('currency', '=', currency)
        .where('date', '>=', from)
        .where('date', '<=', to)
        .where('from_at', '=', instant(0))
        .where('window_id', '=', window_id)
        .orderBy('date'),
  );
  const add = db.change((bound: Bound<Written>) =>
    query.insertInto('date_window').values((of) => ({
      ...pick(bound, ['product_id', 'currency', 'from_date', ...facts]),
      shut: of.selectFrom('_product as p').select('p.shut').where('p.product_id', '=', bound.product_id),
    })),
  );
  const change = db.change((bound: Bound<StoredSpan>) =>
    query.updateTable('date_window').set(pick(bound, facts)).where('window_id', '=', bound.window_id),
  );
  // A statement of its own: the index is written only where the first date differs.
  const begin = db.change((bound: Bound<Pick<StoredSpan, 'window_id' | 'from_date'>>) =>
    query.updateTable('date_window').set({ from_date: bound.from_date }).where('window_id', '=', bound.window_id),
  );
  const drop = db.change(({ window_id }: Bound<{ window_id: number }>) =>
    query.deleteFrom('date_window').where('window_id', '=', window_id),
  );
  const dropBefore = db.change(({ product_id, currency, date }: Bound<OfProduct & { date: string }>) =>
    query
      .deleteFrom('date_window')
      .where('product_id', '=', product_id)
      .where('currency', '=', currency)
      .where('to_date', '<', date),
  );
  const clip = db.change(({ product_id, currency, date }: Bound<OfProduct & { date: string }>) =>
    query
      .updateTable('date_window')
      .set({ from_date: date })
      .where('product_id', '=', product_id)
      .where('currency', '=', currency)
      .where('from_date', '<', date),
  );
  const replace = (known: StoredSpan, span: StoredSpan) => {
    change.run(span);
    if (known.from_date !== span.from_date) begin.run(span);
  };
  const insert = (span: Written) => Number(add.run(span).lastInsertRowid);

  /**
   * Separates the dates of a range from a stored span that has others too, by moving the fewer ones. If those outside the
   * range are fewer, they get a copy of the span, and the span is free for the answer: true. Otherwise the span keeps them.
   */
  function separate(span: StoredSpan, { from, to }: Range, within: number): boolean {
    if (from <= span.from_date && span.to_date <= to) return true;
    const all = { ...span, from: span.from_date, to: span.to_date };
    const others = datesWithin.all(all).filter((date) => date < from || date > to);
    const [first, last] = [others[0], others.at(-1)];
    if (first === undefined || last === undefined) return true;
    const rest = { ...span, from_date: first, to_date: last };
    if (others.length < within) {
      move(span, others, insert(rest));
      return true;
    }
    if (within > 0) replace(span, rest);
    return false;
  }

  return {
    ...asked(db),
    spansIn: (read, to, stored) => {
      const { from, sent_at } = read;
      const spans = new Map(
        overlapping
          .all({ product_id: read.product_id, currency: read.currency, from, to })
          .map((each) => [each.window_id, each]),
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
            if (isOlder(span) && separate(span, { from, to }, within.get(span.window_id)?.length ?? 0))
              unused.add(span.window_id);
          const belonging = new Map<string, number>();
          for (const { stale_after, each, isCounted } of byTier(read, dates, uncounted)) {
            const counts = Map.groupBy(each, (date) => before.get(date)?.window_id);
            const [known] = [...unused].sort((a, b) => (counts.get(b)?.length ?? 0) - (counts.get(a)?.length ?? 0));
            const span = {
              ...spanOf(read, of, { stale_after, isCounted }),
              from_date: each[0] ?? from,
              to_date: each.at(-1) ?? to,
            };
            const old = known === undefined ? undefined : spans.get(known);
            const window_id = old?.window_id ?? insert(span);
            if (old !== undefined) replace(old, { ...span, window_id });
            unused.delete(window_id);
            for (const date of each) belonging.set(date, window_id);
          }
          for (const window_id of unused) drop.run({ window_id });
          return belonging;
        },
      };
    },
    prune: ({ product_id, currency }, date) => {
      dropBefore.run({ product_id, currency, date });
      clip.run({ product_id, currency, date });
    },
  };
}

/** Returns what concerns stored spans as they are. */
function asked(db: Writes): Pick<DateSpanTable, 'confirm' | 'moveStaleAt' | 'wasRead' | 'variantIds'> {
  type Confirmed = OfProduct & Pick<AnswerMeta, 'hash' | 'sent_at'> & TierBounds;
  const mark = db.change((bound: Bound<Confirmed>) =>
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
  const reads = db.values(({ product_id }: Bound<{ product_id: number }>) =>
    query.selectFrom('date_window').select('checked_at').distinct().where('product_id', '=', product_id),
  );
  type ReadAt = { product_id: number; checked_at: Instant };
  const move = db.change((bound: Bound<ReadAt & TierBounds>) => {
    const stale_at = (of: OfSpan) => sql<Instant>`${bound.checked_at} + ${cadenceOfSpan(of, bound)}`;
    return query
      .updateTable('date_window')
      .set((of) => ({ stale_at: stale_at(of) }))
      .where('product_id', '=', bound.product_id)
      .where('checked_at', '=', bound.checked_at)
      .where((of) => of('stale_at', '<>', stale_at(of)));
  });
  const known = db.values(({ product_id, currency, from, to }: Bound<OfProduct & Range>) =>
    query
      .selectFrom('day')
      .select('date')
      .where('product_id', '=', product_id)
      .where('currency', '=', currency)
      .where('date', '>=', from)
      .where('date', '<=', to)
      .limit(1),
  );
  const variants = db.values(({ product_id }: Bound<{ product_id: number }>) =>
    query.selectFrom('date_window').select('variant_ids').where('product_id', '=', product_id),
  );

  return {
    confirm: ({ today, tiers, ...read }) => {
      mark.run({ ...read, ...tierBounds(tiers, today) });
    },
    moveStaleAt: (product_id, tiers, todayAt) => {
      for (const checked_at of reads.all({ product_id }))
        move.run({ product_id, checked_at, ...tierBounds(tiers, todayAt(checked_at)) });
    },
    wasRead: ({ product_id, currency }, from, to) => known.get({ product_id, currency, from, to }) !== undefined,
    variantIds: (product_id) =>
      new Set(variants.all({ product_id }).flatMap((variant_ids) => JSON.parse(variant_ids) as number[])),
  };
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
  { stale_after, isCounted }: Omit<OfTier, 'each'>,
) {
  // Views count in whole seconds: these dates are stale from the first one on.
  const held_at = isCounted ? null : instant(sent_at - (sent_at % 1000));
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
