import { type Instant, instant } from '../../clock.ts';
import { dueForIncomingDate, isStillWorth, type NextWindow } from '../../domain/schedule/cadence.ts';
import type { Due, RecordFacts } from '../../domain/schedule/record.ts';
import type { KnownProduct } from '../../mirror/catalogue/product-reads.ts';
import { believed } from '../records/beliefs.ts';
import { dueAfterRead } from '../records/call-value.ts';
import type { Sync } from '../records/context.ts';
import { datesOf } from '../records/window-dates.ts';

/**
 * The share of its cadence by which a window other than the first is read before midnight. It is twice the lead that
 * reads by the cadence have.
 */
const midnightLead = 0.02;

/**
 * Plans an extra read again if it is no longer worth its call: the service has throttled since, or the budget for extra
 * calls has fallen. After midnight it is read as planned, because its window has moved by a date.
 */
export function postponeIfNotWorth(sync: Sync, record: RecordFacts): 'postponed' | 'worth' {
  const { mirror, clock, policy } = sync;
  const { fetched_at } = record;
  const product = mirror.catalogue.products.find(record.product_id);
  if (fetched_at === null || product === null) return 'worth';
  const window = datesOf(policy.of(product.category), product, record.part, instant(fetched_at));
  if (window === null || clock.now() >= window.next_midnight) return 'worth';
  const byValue = dueAfterRead(
    sync,
    record,
    { fetched_at: instant(fetched_at), cadence: window.every, product },
    believed(record),
  );
  const sooner = dueForMidnight(sync, record, product, window);
  const planned = sooner !== null && sooner.at < byValue.at ? sooner : byValue;
  // The window before relies on this one being read before midnight (`dueForIncomingDate`).
  const surely = record.part === 0 ? planned.at : window.next_midnight - window.every * midnightLead;
  const due = { ...planned, at: instant(Math.min(planned.at, surely)) };
  if (isStillWorth(due, fetched_at, clock.now())) return 'worth';
  mirror.transaction(() => mirror.schedule.records.reschedule(record, due, instant(fetched_at + window.every)));
  return 'postponed';
}

/**
 * Called when a window was read. If the read was planned before midnight and came after it, the date that midnight
 * moved into the window before was in neither read. Makes the window before due before that date is older than its
 * cadence.
 */
export function planMovedDate(
  { mirror }: Sync,
  record: RecordFacts,
  { last_midnight, every }: { readonly last_midnight: Instant; readonly every: number },
): void {
  const { part } = record;
  // If the record was never read, the date is not in the mirror at all.
  const fetched_at = record.fetched_at ?? 0;
  if (part === 0 || fetched_at >= last_midnight) return;
  const before = mirror.schedule.records.find({ ...record, part: part - 1 });
  if (before?.fetched_at == null || before.fetched_at >= last_midnight) return;
  const due = dueForIncomingDate({ fetched_at, due_at: fetched_at, cadence: every }, last_midnight);
  if (due !== null && due.at < before.due_at) mirror.schedule.records.setDue(before, due);
}

/**
 * Returns when a window that was read is due again because of the next midnight; null: no date moves into it. A request
 * that waited, or an answer that came, over midnight is for the window of yesterday, and that of today is read at once:
 * the date that has moved would seem read, as the window was read after midnight.
 */
export function dueForMidnight(
  sync: Sync,
  record: RecordFacts,
  product: KnownProduct,
  { next_midnight }: { readonly next_midnight: number },
): Due | null {
  if (sync.clock.now() >= next_midnight) return { at: instant(next_midnight), reason: 'cadence-elapsed' };
  return dueForIncomingDate(nextWindow(sync, record, product), next_midnight);
}

/** Returns the window whose first date moves into this one at midnight; null: there is none, or it was never read. */
function nextWindow({ mirror, policy }: Sync, record: RecordFacts, { category }: KnownProduct): NextWindow | null {
  const part = record.part + 1;
  const window = policy.of(category).extent.windows.find((each) => each.part === part);
  const next = window === undefined ? null : mirror.schedule.records.find({ ...record, part });
  if (window === undefined || next?.fetched_at == null) return null;
  return { fetched_at: next.fetched_at, due_at: next.due_at, cadence: window.every };
}
