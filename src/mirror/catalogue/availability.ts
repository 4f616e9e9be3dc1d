import type { AvailabilityAnswer } from '../../domain/catalogue/availability.ts';
import { datesBetween } from '../../domain/time/dates.ts';
import type { Writes } from '../../sqlite/statements.ts';
import type { ChangeTable } from '../changes/changes.ts';
import type { AnswerMeta, OfProduct } from './dates/answer-meta.ts';
import { type DateSpanTable, dateSpanTable } from './dates/date-spans.ts';
import { type DayTable, datesByRate, dayTable } from './dates/days.ts';
import { printedPrices } from './dates/printed-prices.ts';
import { dateSettings } from './dates/stretches.ts';

/** Dates, their slots and the spans that say when each was read. */
export interface AvailabilityTables
  extends Pick<DateSpanTable, 'confirm' | 'moveStaleAt' | 'wasRead' | 'variantIds'>,
    Pick<DayTable, 'shown'> {
  /**
   * Stores an answer, priced by whom its variants are for: store those first. Days that are stored as
   * they are now are not written. `changed`: days that differ from what was stored, `noticed`: the dates of those in which a shopper
   * would notice it, `byRate`: how many of these the exchange rate alone has changed, `added`: days that had no row.
   */
  store(
    read: AnswerMeta,
    answer: AvailabilityAnswer,
  ): { changed: number; noticed: string[]; byRate: number; added: number };
  /**
   * Stores as sold out in another currency the dates of a range that are sold out in that of the read, as far as they
   * were read there before it. Returns how many.
   */
  soldOutIn(currency: string, read: AnswerMeta, to: string): number;
  /** Forgets dates before the venue's today. */
  prune(of: OfProduct, today: string): void;
}

export function availabilityTables(db: Writes, changes: ChangeTable): AvailabilityTables {
  const days = dayTable(db, changes);
  const printed = printedPrices(db);
  const settingOf = dateSettings(db);
  const { confirm, moveStaleAt, wasRead, variantIds, ...spans } = dateSpanTable(db, days.move);

  const store: AvailabilityTables['store'] = (read, answer) => {
    const { product_id, currency, from } = read;
    const { covered_to: to, max_tickets_per_order, variants, uncounted = new Set() } = answer;
    const counts = { changed: 0, noticed: [] as string[], byRate: 0, added: 0 };
    if (to < from) return counts;
    const stored = new Map(days.stored({ product_id, currency }, from, to).map((day) => [day.date, day]));
    const { isNewer, limitBefore, put } = spans.spansIn(read, to, [...stored.values()]);
    const variant_ids = JSON.stringify(variants.map(({ variant_id }) => variant_id));
    const dates = datesBetween(from, to).filter((date) => !isNewer(date));
    const setting = { ...read, ...settingOf(product_id), most: max_tickets_per_order };
    const dated = { ...setting, byRate: datesByRate(stored.values(), answer.days, setting) };
    const moved: string[] = [];
    for (const [date, window_id] of put({ max_tickets_per_order, variant_ids }, dates, uncounted)) {
      const before = stored.get(date);
      const key = { product_id, currency, date };
      const { differs, noticed } = days.store(key, answer.days.get(date), before, { ...dated, window_id });
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
      changes.add({ product_id, kind: 'slots_changed', detail: { currency, dates: moved } }, read);
    if (counts.added + counts.changed > 0) printed.recompute({ product_id, currency });
    return counts;
  };

  const soldOutIn: AvailabilityTables['soldOutIn'] = (currency, read, to) => {
    const { product_id, from } = read;
    const gone = new Set(
      days
        .stored({ product_id, currency: read.currency }, from, to)
        .flatMap(({ date, state }) => (state === 'available' ? [] : [date])),
    );
    const shown = days.stored({ product_id, currency }, from, to).filter(({ state }) => state === 'available');
    let stored = 0;
    for (const { date } of shown.filter((day) => gone.has(day.date)))
      stored += store({ ...read, currency, from: date, readBefore: true }, soldOutOn(date)).changed;
    return stored;
  };

  return {
    confirm,
    moveStaleAt,
    wasRead,
    variantIds,
    shown: days.shown,
    store,
    soldOutIn,
    prune: (of, today) => {
      days.prune(of, today);
      spans.prune(of, today);
    },
  };
}

/** Returns what an answer would say of a date without tickets. */
function soldOutOn(date: string): AvailabilityAnswer {
  const nothing = { named: null, max_tickets_per_order: null, days: new Map(), variants: [], groups: [], rest: {} };
  return { sales_enabled: true, covered_to: date, ...nothing };
}
