import type { Instant } from '../../clock.ts';
import type { Tier } from '../../domain/catalogue/availability.ts';
import { tierOfDay } from '../../domain/catalogue/availability.ts';
import { faded } from '../../domain/catalogue/category.ts';
import { standingOf } from '../../domain/checks/check.ts';
import { type Rating, rateOrder, saysGone } from '../../domain/checks/error-rate.ts';
import { viewsOfTicket } from '../../domain/schedule/interest.ts';
import type { RecordKey } from '../../domain/schedule/record.ts';
import { productKinds } from '../../domain/schedule/record.ts';
import { windowOfDate } from '../../domain/schedule/window-of-date.ts';
import { CataloguedError, exitCodes } from '../../errors.ts';
import type { Sync } from '../records/context.ts';
import { refuseDates } from '../records/date-reach.ts';
import { noteTold } from '../records/settle.ts';
import { type CheckDesk, notMirrored } from './check.ts';
import { countOrder } from './counts.ts';
import { countViews } from './views.ts';

/** A storefront's report of an order, without personal data. */
export interface OrderReport {
  readonly product_id: number;
  /** The ordered date, in the venue's calendar. */
  readonly date: string;
  /** `HH:MM` or `whole_day`; null: not reported. */
  readonly time?: string | null;
  readonly quantity: number;
  /** `failed`: the service refused the order; `code` is its code, if it sent one. */
  readonly outcome: 'confirmed' | 'failed';
  readonly code: string | null;
}

/** The result of a report. */
export interface OrderNoted {
  /** The number of records made due; 0: they were due already. */
  readonly due: number;
  /** Rating of the mirror's copy of the ordered date; null: the order says nothing about it. */
  readonly mirror: Rating | null;
}

/**
 * Reports an order: makes the window of its date due at once (specification §1 rule 5). A sale counts for the product's
 * weight and for the top sellers. An order that failed because something was not available makes its dates count as
 * more volatile, once between two reads. Both update the mirror's error rate. `take` returns the number of a valid
 * order that counts only once; the number is stored with the counts.
 */
export function reportOrder(sync: Sync, order: OrderReport, take: (() => number) | null = null): OrderNoted {
  const { mirror, clock, policy, log } = sync;
  const { product_id, date, quantity, outcome, code } = order;
  const { known, sale, records, part, tier } = subjectOf(sync, order);
  const now = clock.now();
  const [currency] = policy.extent.currencies;
  const wanted = { time: order.time ?? null, variants: [], quantity };
  const shown = standingOf(wanted, sale, mirror.checks.date(product_id, currency, date));
  const rating = rateOrder(shown, order);
  if (outcome === 'failed')
    log.warn({ product_id, date, code, mirror: rating }, 'an order failed: reading its dates again');
  const reason = outcome === 'failed' ? 'order-failed' : 'order-recheck';
  const order_number = take?.() ?? null;
  const due = mirror.transaction(() => {
    if (order_number !== null) mirror.noteOrder({ last_order_number: order_number });
    countOrder(mirror, { product_id, tier, at: now }, { rating, tickets: outcome === 'confirmed' ? quantity : 0 });
    if (outcome === 'confirmed') {
      mirror.catalogue.categories.countSale({
        product_id,
        sold: faded(now, known.sold, known.sold_at) + quantity,
        sold_at: now,
      });
      countViews(mirror, { product_id, part }, viewsOfTicket * quantity, now);
    }
    if (outcome === 'failed' && saysGone(code)) for (const key of records) tellOf(sync, key, now);
    return mirror.schedule.records.bringForward({ kinds: records, product_ids: [product_id] }, now, reason);
  });
  return { due, mirror: rating };
}

/**
 * Reads the dates of an order again now, in the checkout lane. Unanswered ones stay due. Resolves to true if all were
 * answered.
 */
export async function recheckOrder(desk: CheckDesk, order: OrderReport, signal: AbortSignal): Promise<boolean> {
  const { records } = subjectOf(desk.sync, order);
  const results = await Promise.all(records.map((key) => desk.recheck(key, { deadline_ms: recheckMs, signal })));
  return results.every(({ kind }) => kind !== 'unanswered');
}

/** Reports an order, and reads the dates of a failed one at once instead of at the next scheduled read. */
export function orderAndRecheck(
  desk: CheckDesk,
  order: OrderReport,
  signal: AbortSignal,
  take: (() => number) | null = null,
): OrderNoted {
  const noted = reportOrder(desk.sync, order, take);
  if (order.outcome === 'failed')
    recheckOrder(desk, order, signal).catch((error: unknown) => {
      if (!signal.aborted) desk.sync.log.error({ err: error }, 'reading the dates of an order again threw');
    });
  return noted;
}

/** A recheck after an order is given up after this time, in milliseconds, and left to the schedule. */
const recheckMs = 20_000;

function tellOf(sync: Sync, key: RecordKey, at: Instant): void {
  const record = sync.mirror.schedule.records.find(key);
  if (record !== null) noteTold(sync, record, at);
}

/** Returns the product and the records that hold the date, one per currency. */
function subjectOf(sync: Sync, { product_id, date }: OrderReport) {
  const { mirror, clock, policy } = sync;
  refuseDates(sync, { date });
  const known = mirror.catalogue.products.find(product_id);
  const sale = mirror.checks.saleState(product_id);
  if (known === null || sale === null) throw notMirrored(product_id);
  const { extent, cadence } = policy.of(known.category);
  const where = windowOfDate(extent.windows, { timezone: known.timezone, date, now: clock.now() });
  if (where.kind !== 'within') {
    throw new CataloguedError('outside-horizon', `${date} is in the past, or beyond the mirrored dates`, {
      exitCode: exitCodes.usage,
      hint: 'give a date from today on, within cadence.availability.horizon',
    });
  }
  const records: RecordKey[] = productKinds(extent)
    .filter(({ resource, part }) => resource === 'availability' && part === where.part)
    .map(({ resource, edition, part }) => ({ resource, product_id, edition, part }));
  const tier: Tier = tierOfDay(cadence.availability, where.day);
  return { known, sale, records, part: where.part, tier };
}
