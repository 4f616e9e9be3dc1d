import { setImmediate } from 'node:timers/promises';
import { instant } from '../clock.ts';
import { auditMemoryMs } from '../domain/truth/estimate.ts';
import { pruneCounts } from '../sync/checks/counts.ts';
import { orderMemoryMs } from '../sync/checks/order-once.ts';
import { interestMemoryMs } from '../sync/records/weights.ts';
import type { Daemon } from './context.ts';
import type { Job } from './schedule.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** Milliseconds for which periods of conditions and searches without results are kept. */
const memoryMs = 90 * dayMs;

/**
 * Once an hour records what is on sale, deletes data older than its retention, and compares the rules of time zones.
 * Returns the disk space that a flood of deliveries has used.
 */
export function retentionJob(daemon: Daemon): Job {
  const { config, sync, inbox, sharing, zones } = daemon;
  return {
    name: 'retention',
    every: hourMs,
    // Data deleted because of a wrong clock is lost for good.
    needs: ['mirror', 'inbox', 'leads', 'writing', 'certain-time'],
    run: async (signal) => {
      await recordOnSale(daemon);
      prune(daemon);
      zones.look();
      await sharing?.deliveries
        .prune(sync.clock.now() - config.retention.deliveries)
        .catch((error: unknown) => sync.log.warn({ err: error }, 'old deliveries stay in the database'));
      while (!signal.aborted && inbox.deliveries.shrink()) await setImmediate();
    },
  };
}

async function recordOnSale({ status, mirror }: Daemon): Promise<void> {
  const { filled_at, as_of, products, bookable } = await status.counted();
  if (filled_at === null) return;
  const counted = { counted_at: instant(as_of), sellable: products.sellable, days: bookable.days };
  mirror.transaction(() => mirror.status.onSale.record(counted));
}

function prune({ mirror, inbox, sync, config }: Daemon): void {
  const now = sync.clock.now();
  const ago = (ms: number) => instant(now - ms);
  mirror.transaction(() => {
    const before = ago(config.retention.changes);
    mirror.changes.prune(before, config.retention.changes_bytes);
    pruneCounts(mirror, before);
    mirror.audits.prune(ago(auditMemoryMs));
    mirror.schedule.interest.prune(ago(interestMemoryMs));
    mirror.catalogue.images.prune(before);
    mirror.push.closures.prune(before);
    mirror.rows.prune(now);
  });
  inbox.deliveries.prune(ago(config.retention.deliveries));
  inbox.orders.prune(ago(orderMemoryMs));
  inbox.conditions.prune(ago(memoryMs));
  inbox.searches.prune(Math.floor((now - memoryMs) / dayMs));
}
