import { z } from 'zod';
import { slotTime, summarise } from '../dates/availability.rules.ts';
import { minuteOf, withoutPassed } from '../dates/passed-times.rules.ts';
import { addDays } from '../kernel/time/venue.ts';
import { date, instant, maybe, money, type Shaped } from '../kernel/values/answer-values.ts';
import type { CheckTables, ReadDate } from './checks.store.ts';
import { standingOf, type Wanted } from './verdict.rules.ts';

/** An alternative that is available according to the mirror after the check. */
export const alternative = z.object({
  /** Another time of the date, another date, or the product that the service recommends. */
  kind: z.enum(['time', 'date', 'product']),
  product_id: z.int(),
  date,
  /** Null for another product, because its times differ. */
  time: maybe,
  /**
   * The price of the requested tickets. For another product, whose variants differ, the price of its cheapest ticket.
   * Null: unknown.
   */
  price: money.nullable(),
  /** Instant of the read behind it. */
  checked_at: instant,
});
type Alternative = Shaped<typeof alternative>;

const most = { times: 3, dates: 5 } as const;
/** Number of days searched before and after the date. */
const daysAround = 14;

/**
 * Returns alternatives at which everything wanted is available: the nearest times first, then the nearest dates, then
 * other products.
 */
export function alternativesTo(
  mirror: CheckTables,
  of: {
    readonly product_id: number;
    readonly currency: string;
    readonly date: string;
    /** The venue's today; alternatives before it are not offered. */
    readonly today: string;
    readonly wanted: Wanted;
    /** Returns how many minutes of a date have passed at the venue of a product. */
    passed(product_id: number, date: string): number;
    /** The date itself, as stored in the mirror; null: it was never read. */
    readonly day: ReadDate | null;
    /** False: other dates of the product are not offered. */
    readonly on_sale: boolean;
  },
): Alternative[] {
  const { product_id, currency, date, today, wanted, passed, day, on_sale } = of;
  const priced = (amount: number | null) => (amount === null ? null : { amount, currency });
  const times =
    on_sale && wanted.time !== null && day !== null ? otherTimes(day, wanted, passed(product_id, date)) : [];
  const range = { from: later(addDays(date, -daysAround), today), to: addDays(later(date, today), daysAround) };
  const dates: Alternative[] = [];
  for (const other of on_sale ? mirror.nearest(product_id, currency, date, range) : []) {
    if (dates.length >= most.dates) break;
    const gone = passed(product_id, other.date);
    const same = standingOf(wanted, 'on-sale', other, gone);
    const found = same?.sellable ? same : standingOf({ ...wanted, time: null }, 'on-sale', other, gone);
    if (found?.sellable)
      dates.push({
        kind: 'date',
        product_id,
        date: other.date,
        time: found.time,
        price: priced(found.price),
        checked_at: other.checked_at,
      });
  }
  const products = mirror.alternatives({ product_id }).flatMap((alternative): Alternative[] => {
    const other = mirror.date(alternative, currency, date);
    const summary = other?.form == null ? null : summarise(withoutPassed(other.form, passed(alternative, date)));
    if (other === null || summary === null || !summary.available) return [];
    if (summary.max_tickets !== null && summary.max_tickets < wanted.quantity) return [];
    return [
      {
        kind: 'product',
        product_id: alternative,
        date,
        time: null,
        price: priced(summary.lowest_price),
        checked_at: other.checked_at,
      },
    ];
  });
  return [
    ...times.map(({ time, price }) => ({
      kind: 'time' as const,
      product_id,
      date,
      time,
      price: priced(price),
      checked_at: day?.checked_at ?? 0,
    })),
    ...dates,
    ...products,
  ];
}

function otherTimes(day: ReadDate, wanted: Wanted, minutes_passed: number) {
  const asked = minutes(wanted.time);
  const names = [...new Set((day.form?.[2] ?? []).map(([time]) => slotTime(time)))];
  return names
    .filter((time) => time !== wanted.time)
    .sort((a, b) => Math.abs(minutes(a) - asked) - Math.abs(minutes(b) - asked))
    .flatMap((time) => {
      const found = standingOf({ ...wanted, time }, 'on-sale', day, minutes_passed);
      return found?.sellable ? [found] : [];
    })
    .slice(0, most.times);
}

/** Returns minutes since midnight; null and anything that is not a time of day count as midnight. */
function minutes(time: string | null): number {
  return time === null ? 0 : (minuteOf(time) ?? 0);
}

function later(a: string, b: string): string {
  return a > b ? a : b;
}
