import { type ResyncRequest, requestResync } from '../../src/sync/records/resync.ts';
import { openMirrorAt } from './mirror-at.ts';
import type { VirtualHarness } from './virtual-harness.ts';

/** Returns the rows that a reader of the mirror sees now. */
export function shownRows<Row>({ daemon, clock }: Pick<VirtualHarness, 'daemon' | 'clock'>, sql: string): Row[] {
  const db = openMirrorAt(daemon.mirror.path, clock.now());
  try {
    return db.prepare<[], Row>(sql).all();
  } finally {
    db.close();
  }
}

/** Returns how many dates can be bought, and how many of them are stale. */
export function bookableDays(harness: VirtualHarness): { days: number; stale: number } {
  const sql = 'SELECT count(*) AS days, sum(stale) AS stale FROM bookable_days';
  return shownRows<{ days: number; stale: number }>(harness, sql)[0] ?? { days: 0, stale: 0 };
}

/** Reads resources of all products again, and lives through the time that this takes. */
export async function readAgain(
  { daemon, clock, liveUntil }: VirtualHarness,
  resources: ResyncRequest['resources'],
  ms = 30 * 60_000,
): Promise<void> {
  requestResync(daemon.ports, { resources, product_ids: [], from: null, to: null });
  await liveUntil(clock.now() + ms);
}
