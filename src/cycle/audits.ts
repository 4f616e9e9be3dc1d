import { setImmediate } from 'node:timers/promises';
import { readAvailability } from '../dates/availability.ask.ts';
import { dayMs, type Instant, instant } from '../kernel/clock.ts';
import { daysBetween, venueToday } from '../kernel/time/venue.ts';
import { planOf } from '../schedule/call-plan.rules.ts';
import { catalogueOf } from '../schedule/needed-calls.ts';
import type { RecordKey } from '../schedule/record.rules.ts';
import type { AdaptiveRecord } from '../schedule/record-reads.store.ts';
import { ReadLane, type Sync } from '../schedule/sync.ts';
import { surveyInterest, weighing } from '../schedule/weights.ts';
import { isGoneBy } from '../trust/absence.rules.ts';
import { auditPeriodMs, drawAudits, findingsOf, mayAudit } from '../trust/error-estimate.rules.ts';

/** Random reads. Their results estimate how much outdated data shoppers see (trust/error-estimate.rules.ts). */
export interface Audits {
  /**
   * Returns the instant of the next work, in epoch milliseconds. Null: nothing is measured, or not before the fill has
   * ended.
   */
  nextAt(): number | null;
  /** Draws records and instants for the next six hours, and reads those whose instant has come. */
  run(signal: AbortSignal): Promise<void>;
}

interface Drawn {
  readonly at: Instant;
  readonly key: RecordKey;
}

/**
 * Milliseconds of delay after which a drawn instant is skipped: missed because the machine slept or the service was
 * slow, it is no longer random.
 */
const lateMs = 600_000;
/** The number of records between two turns of the event loop. */
const slice = 100;

export function auditsOf(sync: Sync): Audits {
  const { mirror, clock, policy } = sync;
  const span = { from: 0, to: 0 };
  let drawn: Drawn[] = [];
  const isOver = () => clock.now() < span.from || clock.now() >= span.to;

  async function draw(signal: AbortSignal): Promise<void> {
    const from = clock.now();
    const next = await drawnFrom(sync, { from, to: from + auditPeriodMs }, signal);
    if (signal.aborted) return;
    drawn = next;
    Object.assign(span, { from, to: from + auditPeriodMs });
  }

  return {
    nextAt: () => {
      if (policy.audit === 0 || mirror.filledAt() === null) return null;
      return isOver() ? 0 : (drawn[0]?.at ?? span.to);
    },
    run: async (signal) => {
      if (policy.audit === 0 || mirror.filledAt() === null) return;
      if (isOver()) await draw(signal);
      for (let next = drawn[0]; next !== undefined && next.at <= clock.now() && !signal.aborted; next = drawn[0]) {
        drawn.shift();
        if (clock.now() - next.at <= lateMs && mayAudit(sync.budget(), clock.now()))
          await audit(sync, next.key, signal);
      }
    },
  };
}

/** Draws records with instants of a span, in proportion to their share of shoppers' views; the earliest first. */
async function drawnFrom(sync: Sync, span: { from: number; to: number }, signal: AbortSignal): Promise<Drawn[]> {
  const audits = planOf(catalogueOf(sync)).find(({ lane }) => lane === 'audit');
  const reads = ((audits?.calls_per_day ?? 0) * (span.to - span.from)) / dayMs;
  const weigh = weighing(sync, await surveyInterest(sync, signal));
  let total = 0;
  for await (const records of shown(sync, signal)) for (const record of records) total += weigh(record);
  const { next } = drawAudits({ ...span, reads, total }, sync.chance);
  const drawn: Drawn[] = [];
  for await (const records of shown(sync, signal))
    for (const record of records) {
      const { resource, product_id, edition, part } = record;
      const key = { resource, product_id, edition, part };
      for (const at of next(weigh(record))) drawn.push({ at: instant(at), key });
    }
  return drawn.sort((a, b) => a.at - b.at);
}

/** Yields the availability records of all products on sale, a slice at a time. */
async function* shown({ mirror }: Sync, signal: AbortSignal): AsyncGenerator<AdaptiveRecord[]> {
  let cursor: AdaptiveRecord | null = null;
  while (!signal.aborted) {
    const records: AdaptiveRecord[] = mirror.schedule.records.adaptiveAfter(cursor, slice);
    if (records.length === 0) return;
    yield records;
    cursor = records.at(-1) ?? null;
    await setImmediate();
  }
}

/**
 * Reads a record, regardless of its schedule, and counts whether the mirror's copy was still up to date. The answer is
 * stored.
 */
async function audit(sync: Sync, key: RecordKey, signal: AbortSignal): Promise<void> {
  const { mirror, clock, policy } = sync;
  const record = mirror.schedule.records.find(key);
  const product = mirror.catalogue.products.find(key.product_id);
  const { extent, cadence } = policy.of(product?.category ?? null);
  const window = extent.windows.find(({ part }) => part === key.part);
  if (record?.fetched_at == null || product === null || window === undefined) return;
  // Shoppers see no dates of this product.
  if (mirror.checks.saleState(key.product_id) !== 'on-sale') return;
  const outdated = await outdatedDates(sync, { ...record, due_reason: 'audit' }, signal);
  if (outdated === null) return;
  const today = venueToday(product.timezone, clock.now()).earliest;
  const days = outdated === 'all' ? 'all' : outdated.map((date) => daysBetween(today, date));
  const from_at = Math.floor(clock.now() / auditPeriodMs) * auditPeriodMs;
  mirror.transaction(() => {
    for (const { tier, outdated: found } of findingsOf(window, cadence.availability, days))
      mirror.audits.count({ from_at: instant(from_at), tier, audited: 1, outdated: found });
  });
}

/**
 * Reads a record's window. Returns the dates that were wrong in the mirror; `all`: all of them, because the product is
 * not on sale or the answer is not believed yet; null: the answer does not show it.
 */
async function outdatedDates(
  sync: Sync,
  record: Parameters<typeof readAvailability>[1],
  signal: AbortSignal,
): Promise<readonly string[] | 'all' | null> {
  const { mirror } = sync;
  const lane = new ReadLane(sync, 'audit', async (work) => mirror.transaction(work));
  const read = await readAvailability(lane, record, { signal });
  if (read.kind === 'refused') {
    sync.refusals.judge(record, read, signal).catch(() => undefined);
    return isGoneBy(read.status, mirror.catalogue.removals.one({ product_id: record.product_id })) ? 'all' : null;
  }
  if (read.kind !== 'stored' || read.unanswered.length > 0) return null;
  // An answer that is held, or not believed yet, contradicts all shown dates.
  if (read.kept) return 'all';
  // The product is shown, so its own read still says on sale. Without sale, this is a closure that was not announced.
  return read.sale === 'on' ? read.noticed : 'all';
}
