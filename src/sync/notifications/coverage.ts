import { setImmediate } from 'node:timers/promises';
import { productKinds } from '../../domain/schedule/record-kinds.ts';
import type { Ports } from '../records/context.ts';
import { walkAgain } from '../records/deciding-reads.ts';
import { reschedule } from '../records/reschedule.ts';

type CoveragePorts = Pick<Ports, 'mirror' | 'clock' | 'policy' | 'log'>;

/** So many products are planned again between two turns of the event loop. */
const slice = 200;
/** What a gap asks for takes no more than this share of the ceiling. */
const healingShare = 0.3;

/**
 * Once a minute: which products a working, trusted subscription covers. One that is covered no more is read as often as
 * any other from now on; one that is covered now keeps its next read, and has longer from that one on.
 */
export async function updateCoverage(ports: CoveragePorts, signal: AbortSignal): Promise<void> {
  const { mirror, clock, log } = ports;
  const counts = { moved: 0, lost: 0 };
  while (!signal.aborted) {
    // With what follows from it in one transaction: after a kill nobody would know that it has moved.
    const moved = mirror.transaction(() => {
      const found = mirror.trust.cover(clock.now(), slice);
      const lost = found.filter(({ covered }) => covered === 0);
      for (const { product_id } of lost) {
        reschedule(ports, product_id);
        mirror.promises.moveStaleAt(
          ports.policy.of(mirror.products.find(product_id)?.category ?? null).cadence,
          product_id,
        );
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

/** The receiver was away from `last` until now: longer than the service repeats itself is a gap. `last` null: it never was there. */
export function noteAbsence({ mirror, clock, policy, log }: CoveragePorts, last: number | null): void {
  const now = clock.now();
  if (last === null || now - last <= policy.notifications.retries) return;
  mirror.transaction(() => {
    mirror.trust.openGap(null, last);
    mirror.trust.endGap(null, now);
    findClosed({ mirror, clock, policy });
  });
  log.warn(
    { minutes: Math.round((now - last) / 60_000) },
    'no notification could be received for a while: reading covered products again',
  );
}

/** Once a minute: gaps of subscriptions begin and end, and what one concerns is made due, as much as the budget has room for. */
export function healGaps(ports: CoveragePorts): void {
  const { mirror, clock, log } = ports;
  const now = clock.now();
  mirror.transaction(() => {
    for (const { subscription_id, since } of mirror.trust.broken())
      mirror.trust.openGap(subscription_id, Math.min(since, now));
    const mended = mirror.trust.mended();
    for (const subscription_id of mended) mirror.trust.endGap(subscription_id, now);
    if (mended.length > 0) findClosed(ports);
    const gap = mirror.trust.toHeal();
    if (gap === null) return;
    const product_ids = mirror.trust.concerned(gap, productsAMinute(ports));
    const last = product_ids.at(-1);
    if (last !== undefined) {
      makeDue(ports, product_ids);
      mirror.trust.healed(gap.gap_id, last, product_ids.length);
      return;
    }
    if (mirror.trust.waiting() > 0) return;
    mirror.trust.closeGap(gap.gap_id, now);
    const { subscription_id, from_at, to_at, products } = gap;
    log.info({ subscription_id, from_at, to_at, products }, 'gap closed: every product concerned was read again');
  });
}

/** Closures that nobody was told of come first: one walk over the list finds them all. */
function findClosed(ports: Pick<CoveragePorts, 'mirror' | 'policy' | 'clock'>): void {
  walkAgain(ports, ports.clock.now(), 'gap-healing');
}

/** All that a notification would have made due, and dates with it: what was announced may have changed them. */
function makeDue({ mirror, policy, clock }: CoveragePorts, product_ids: readonly number[]): void {
  mirror.records.bringForward({ kinds: productKinds(policy.extent), product_ids }, clock.now(), 'gap-healing');
}

function productsAMinute({ policy }: CoveragePorts): number {
  const reads = productKinds(policy.extent).length;
  return Math.max(1, Math.floor((policy.ceiling * 60 * healingShare) / Math.max(1, reads)));
}
