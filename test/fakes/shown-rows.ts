import type { ResyncResource } from '../../src/schedule/resources.rules.ts';
import type { VirtualHarness } from './virtual-harness.ts';

/** Returns how many dates can be bought, and how many of them are stale. */
export function bookableDays({ rows }: VirtualHarness): { days: number; stale: number } {
  const sql = 'SELECT count(*) AS days, sum(stale) AS stale FROM bookable_days';
  return rows<{ days: number; stale: number }>(sql)[0] ?? { days: 0, stale: 0 };
}

/** Reads resources of all products again, and lives through the time that this takes. */
export async function readAgain(
  { resync, live }: VirtualHarness,
  resources: readonly ResyncResource[],
  ms = 30 * 60_000,
): Promise<void> {
  await resync(resources);
  await live(ms);
}
