import { instant } from '../clock.ts';
import { auditMemoryMs } from '../domain/truth/estimate.ts';
import { pruneCounts } from '../sync/checks/counts.ts';
import { orderMemoryMs } from '../sync/checks/order-once.ts';
import { interestMemoryMs } from '../sync/records/weights.ts';
import type { Wiring } from './wiring.ts';

const dayMs = 86_400_000;
/** How long it is remembered when conditions held, and what was searched for in vain. */
const memoryMs = 90 * dayMs;

/**
 * Deletes what is older than its retention; run once an hour. Deletes nothing while the machine's clock is in doubt, nor
 * in the hour after: what a wrong clock deletes is gone for good.
 */
export function prune({
  mirror,
  inbox,
  ports,
  config,
  watch,
}: Pick<Wiring, 'mirror' | 'inbox' | 'ports' | 'config' | 'watch'>): 'done' | 'in doubt' {
  if (!watch.mayPrune()) return 'in doubt';
  const now = ports.clock.now();
  const ago = (ms: number) => instant(now - ms);
  mirror.transaction(() => {
    const before = ago(config.retention.changes);
    mirror.changes.prune(before, config.retention.changes_bytes);
    pruneCounts(mirror, before);
    mirror.audits.prune(ago(auditMemoryMs));
    mirror.interest.prune(ago(interestMemoryMs));
    mirror.images.prune(before);
    mirror.closures.prune(before);
    mirror.rows.prune(now);
    mirror.renewZones(now);
  });
  inbox.deliveries.prune(ago(config.retention.deliveries));
  inbox.orders.prune(ago(orderMemoryMs));
  inbox.conditions.prune(ago(memoryMs));
  inbox.searches.prune(Math.floor((now - memoryMs) / dayMs));
  return 'done';
}
