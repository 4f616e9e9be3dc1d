import { hash } from 'node:crypto';
import { z } from 'zod';
import { faded } from '../catalogue/category.rules.ts';
import type { Tier } from '../dates/availability.rules.ts';
import { tierOfDay } from '../dates/availability.rules.ts';
import type { Instant } from '../kernel/clock.ts';
import { CataloguedError, exitCodes } from '../kernel/errors.ts';
import type { Shaped } from '../kernel/values/answer-values.ts';
import { refuseDates } from '../schedule/date-reach.ts';
import { viewsOfTicket } from '../schedule/interest.rules.ts';
import { noteTold } from '../schedule/next-read.ts';
import type { RecordKey } from '../schedule/record.rules.ts';
import { productKinds } from '../schedule/record.rules.ts';
import type { Sync } from '../schedule/sync.ts';
import { windowOfDate } from '../schedule/window-of-date.rules.ts';
import { type CheckDesk, notMirrored } from './check.ts';
import { countOrder } from './counts.ts';
import { isGoneCode, rateOrder } from './error-rate.rules.ts';
import { standingOf } from './verdict.rules.ts';
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

/** An order with the id under which it counts once. */
export interface IdentifiedOrder extends OrderReport {
  /** The storefront's identifier of one attempt at an order. Null: each report counts. */
  readonly order_id?: string | null;
}

/** Stores the reported orders by id. They are kept in the inbox database: the mirror holds no orders. */
export interface OrderLedger {
  find(id_sha256: string, counted: number): string | null;
  note(order: { id_sha256: string; contents_sha256: string; told_at: Instant }, counted: number): number;
}

/** The result of a report. */
export const orderNoted = z.object({
  repeated: z.boolean().meta({ description: 'true: this id was already counted, and nothing was done' }),
  due: z.int().meta({ description: 'number of records that this made due; 0: they were due already' }),
  mirror: z
    .enum(['right', 'said-available', 'said-sold-out', 'said-price', 'unknown'])
    .nullable()
    .meta({ description: 'whether the mirror was right about what was ordered; null: the order does not show that' }),
});
export type OrderCounted = Shaped<typeof orderNoted>;

/** Milliseconds for which ids are kept: longer than dates can be ordered ahead, and longer than any checkout retries. */
export const orderMemoryMs = 400 * 24 * 60 * 60 * 1000;

/**
 * Reports an order: makes the window of its date due at once (specification §1 rule 5). A sale counts for the product's
 * weight and for the top sellers. An order that failed because something was not available makes its dates count as
 * more volatile, once between two reads. Both update the mirror's error rate. `take` returns the number of a valid
 * order that counts only once; the number is stored with the counts.
 */
export function reportOrder(
  sync: Sync,
  order: OrderReport,
  take: (() => number) | null = null,
): Omit<OrderCounted, 'repeated'> {
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
    if (outcome === 'failed' && isGoneCode(code)) for (const key of records) tellOf(sync, key, now);
    return mirror.schedule.records.bringForward({ kinds: records, product_ids: [product_id] }, now, reason);
  });
  return { due, mirror: rating };
}

/**
 * Counts an order once, however often it is sent. An order whose id was counted before is answered as `repeated`, even
 * if its date has passed. Throws `order-differs` if the same id comes with other contents, and all errors of
 * `reportOrder`.
 */
export function countOnce(sync: Sync, ledger: OrderLedger, order: IdentifiedOrder): OrderCounted {
  const { order_id = null } = order;
  if (order_id === null) return { ...reportOrder(sync, order), repeated: false };
  const counted = sync.mirror.lastOrder();
  const id_sha256 = hash('sha256', order_id);
  const contents_sha256 = hash('sha256', contentsOf(order_id, order));
  const known = ledger.find(id_sha256, counted);
  if (known === null) {
    const told_at = sync.clock.now();
    const take = () => ledger.note({ id_sha256, contents_sha256, told_at }, counted);
    return { ...reportOrder(sync, order, take), repeated: false };
  }
  if (known !== contents_sha256)
    throw new CataloguedError('order-differs', 'an order with this id was reported before, with other contents', {
      exitCode: exitCodes.usage,
      hint: 'use a new id for each order and each attempt at one',
    });
  return { due: 0, mirror: null, repeated: true };
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

/**
 * Counts an order as `countOnce` does, and reads the dates of a failed one at once instead of at the next scheduled read.
 */
export function countOnceAndRecheck(
  desk: CheckDesk,
  ledger: OrderLedger,
  order: IdentifiedOrder,
  signal: AbortSignal,
): OrderCounted {
  const counted = countOnce(desk.sync, ledger, order);
  if (order.outcome === 'failed' && !counted.repeated)
    recheckOrder(desk, order, signal).catch((error: unknown) => {
      if (!signal.aborted) desk.sync.log.error({ err: error }, 'reading the dates of an order again threw');
    });
  return counted;
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

/** Returns the whole report as one text, with the id, so that hashes of equal orders differ. */
function contentsOf(id: string, { product_id, date, time = null, quantity, outcome, code }: OrderReport): string {
  return JSON.stringify([id, product_id, date, time, quantity, outcome, code]);
}
