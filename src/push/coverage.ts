import { setImmediate } from 'node:timers/promises';
import { instant } from '../kernel/clock.ts';
import { walkAgain } from '../schedule/deciding-reads.ts';
import { productKinds, type RecordKind } from '../schedule/record.rules.ts';
import { moveStaleAt, reschedule } from '../schedule/replan-products.ts';
import { furthestOf, type Sync } from '../schedule/sync.ts';

/** The number of products replanned between two turns of the event loop. */
const slice = 200;
/** The largest share of the ceiling that reads for a gap may use. */
const healingShare = 0.3;

/**
 * Updates the set of products that a working, trusted subscription covers. Run once a minute. A product no longer
 * covered is read as often as any other from now on. A newly covered one keeps its next read, and is read less often
 * after it.
 */
export async function updateCoverage(sync: Sync, signal: AbortSignal): Promise<void> {
  const { mirror, log } = sync;
  if (!mirror.push.coverage.isOutdated()) return;
  const counts = { moved: 0, lost: 0 };
  while (!signal.aborted) {
    // In one transaction with its consequences: after a kill nothing else would show that coverage has changed.
    const moved = mirror.transaction(() => {
      const found = mirror.push.coverage.move(slice);
      const lost = found.filter(({ covered }) => covered === 0);
      for (const { product_id } of lost) {
        reschedule(sync, product_id);
        moveStaleAt(sync, product_id, mirror.catalogue.products.find(product_id));
      }
      counts.lost += lost.length;
      return found.length;
    });
    counts.moved += moved;
    if (moved < slice) break;
    await setImmediate();
  }
  const { moved, lost } = counts;
  if (moved > 0) log.info({ covered: moved - lost, lost }, 'coverage changed');
}

/**
 * Records that the receiver was away from `last` until now. That is a gap if it is longer than the service retries.
 * `last` null: the receiver was never there.
 */
export function noteAbsence(sync: Sync, last: number | null): void {
  const { mirror, clock, policy, log } = sync;
  const now = clock.now();
  if (last === null || now - last <= policy.notifications.retries) return;
  mirror.transaction(() => {
    mirror.push.gaps.openGap(null, instant(last));
    mirror.push.gaps.endGap({ subscription_id: null, to_at: now });
    findClosed(sync);
  });
  log.warn(
    { minutes: Math.round((now - last) / 60_000) },
    'no notification could be received for a while: reading covered products again',
  );
}

/**
 * Opens and closes the gaps of subscriptions, and makes the affected products due as far as the budget allows. Run once
 * a minute.
 */
export function healGaps(sync: Sync): void {
  const { mirror, clock, log } = sync;
  const now = clock.now();
  const [broken, mended] = [mirror.push.gaps.broken(), mirror.push.gaps.mended()];
  if (broken.length === 0 && mended.length === 0 && mirror.push.gaps.toHeal() === null) return;
  mirror.transaction(() => {
    for (const { subscription_id, since } of broken)
      mirror.push.gaps.openGap(subscription_id, instant(Math.min(since, now)));
    for (const subscription_id of mended) mirror.push.gaps.endGap({ subscription_id, to_at: now });
    if (mended.length > 0) findClosed(sync);
    const gap = mirror.push.gaps.toHeal();
    if (gap === null) return;
    const product_ids = mirror.push.gaps.concerned(gap, productsAMinute(sync));
    const last = product_ids.at(-1);
    if (last !== undefined) {
      makeDue(sync, product_ids);
      mirror.push.gaps.healed({ gap_id: gap.gap_id, healed_to: last, products: product_ids.length });
      return;
    }
    if (mirror.push.gaps.waiting() > 0) return;
    mirror.push.gaps.closeGap({ gap_id: gap.gap_id, closed_at: now });
    const { subscription_id, from_at, to_at, products } = gap;
    log.info({ subscription_id, from_at, to_at, products }, 'gap closed: every product concerned was read again');
  });
}

/** Makes the list due first: its walk finds all closures that were not announced. */
function findClosed(sync: Sync): void {
  walkAgain(sync, sync.clock.now(), 'gap-healing');
}

/**
 * Makes all records of the products due that a notification would have made due, including the dates, which it may have
 * changed.
 */
function makeDue(sync: Sync, product_ids: readonly number[]): void {
  const { mirror, clock } = sync;
  mirror.schedule.records.bringForward({ kinds: kindsOfAny(sync), product_ids }, clock.now(), 'gap-healing');
}

function productsAMinute(sync: Sync): number {
  const reads = kindsOfAny(sync).length;
  return Math.max(1, Math.floor((sync.policy.ceiling * 60 * healingShare) / Math.max(1, reads)));
}

/** Returns the kinds of record that a product of any category has. */
function kindsOfAny({ policy }: Sync): RecordKind[] {
  return productKinds(furthestOf(policy).extent);
}
