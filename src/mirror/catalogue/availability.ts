import type { AvailabilityAnswer } from '../../domain/catalogue/availability.ts';
import { datesBetween } from '../../domain/time/dates.ts';
import type { Writes } from '../../sqlite/statements.ts';
import type { ChangeTable } from '../changes/changes.ts';
import type { BookableTable } from './dates/bookable.ts';
import { type DayTable, dayTable } from './dates/days.ts';
import { printedPrices } from './dates/printed-prices.ts';
import { type SpanFacts, type SpanTable, spanTable } from './dates/spans.ts';
import type { OfProduct, WindowRead } from './dates/window.ts';

/** Days, their slots and the spans that say when each was read. */
export interface AvailabilityTables
  extends Pick<SpanTable, 'confirm' | 'wasRead' | 'variantIds'>,
    Pick<DayTable, 'shown'> {
  /**
   * Stores an answer, priced by whom its variants are for: store those first. Days whose compact form is the stored one
   * are not written. `changed`: days that differ from what was stored, `noticed`: the dates of those in which a shopper
   * would notice it, `added`: days that had no row.
   */
  store(read: WindowRead, answer: AvailabilityAnswer): { changed: number; noticed: string[]; added: number };
  /**
   * Stores as sold out in another currency the dates of a range that are sold out in that of the read, as far as they
   * were read there before it. Returns how many.
   */
  soldOutIn(currency: string, read: WindowRead, to: string): number;
  /** Forgets dates before the venue's today. */
  prune(of: OfProduct, today: string): void;
}

export function availabilityTables(db: Writes, changes: ChangeTable, bookable: BookableTable): AvailabilityTables {
  const days = dayTable(db, changes, bookable);
  const printed = printedPrices(db);
  const { confirm, wasRead, variantIds, ...spans } = spanTable(db);

  const store: AvailabilityTables['store'] = (read, answer) => {
    const { product_id, currency, from } = read;
    const { covered_to: to, max_tickets_per_order, variants } = answer;
    const counts = { changed: 0, noticed: [] as string[], added: 0 };
    if (to < from) return counts;
    const { newer, limitBefore } = spans.makeRoom(read, to);
    const moved: string[] = [];
    const stored = new Map(days.stored({ product_id, currency }, from, to).map((day) => [day.date, day]));
    const facts: SpanFacts = {
      max_tickets_per_order,
      variant_ids: JSON.stringify(variants.map(({ variant_id }) => variant_id)),
    };
    const dated = { ...read, ...bookable.settingOf(product_id), most: max_tickets_per_order };
    let run: string[] = [];
    const closeRun = () => {
      const [first = '', last = first] = [run[0], run.at(-1)];
      if (run.length > 0) spans.put(read, facts, { from: first, to: last });
      run = [];
    };
    for (const date of datesBetween(from, to)) {
      if (newer.some((span) => span.from_date <= date && date <= span.to_date)) {
        closeRun();
        continue;
      }
      run.push(date);
      const before = stored.get(date);
      const { differs, noticed } = days.store({ product_id, currency, date }, answer.days.get(date), before, dated);
      if (differs === 'offers' || (differs !== 'state' && limitBefore(date) !== max_tickets_per_order))
        moved.push(date);
      if (differs === 'nothing') continue;
      if (before === undefined) counts.added += 1;
      else counts.changed += 1;
      if (noticed) counts.noticed.push(date);
    }
    closeRun();
    if (moved.length > 0) changes.add({ product_id, kind: 'slots_changed', detail: { currency, dates: moved } }, read);
    if (counts.added + counts.changed > 0) printed.find({ product_id, currency });
    return counts;
  };

  const soldOutIn: AvailabilityTables['soldOutIn'] = (currency, read, to) => {
    const { product_id, from } = read;
    const gone = new Set(
      days
        .stored({ product_id, currency: read.currency }, from, to)
        .flatMap(({ date, available }) => (available === 1 ? [] : [date])),
    );
    const shown = days.stored({ product_id, currency }, from, to).filter(({ available }) => available === 1);
    let stored = 0;
    for (const { date } of shown.filter((day) => gone.has(day.date)))
      stored += store({ ...read, currency, from: date, first: 'again' }, soldOutOn(date)).changed;
    return stored;
  };

  return {
    confirm,
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
  const nothing = { named: null, max_tickets_per_order: null, days: new Map(), variants: [], groups: [], context: '' };
  return { sales_enabled: true, covered_to: date, ...nothing };
}
