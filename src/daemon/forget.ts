import { pruneCounts } from '../sync/checks/counts.ts';
import type { Wiring } from './wiring.ts';

/**
 * Forgets what is older than its retention, once an hour. Nothing while the machine's clock is in doubt, and for an hour
 * after: what an hour of a wrong clock forgets is gone for good.
 */
export function forgetOld({
  mirror,
  inbox,
  ports,
  config,
  watch,
}: Pick<Wiring, 'mirror' | 'inbox' | 'ports' | 'config' | 'watch'>): 'done' | 'in doubt' {
  if (!watch.mayForget()) return 'in doubt';
  const now = ports.clock.now();
  mirror.transaction(() => {
    const before = now - config.retention.changes;
    mirror.changes.prune(before);
    pruneCounts(mirror, before);
    mirror.images.prune(before);
    mirror.closures.prune(before);
  });
  inbox.deliveries.prune(now - config.retention.deliveries);
  return 'done';
}
