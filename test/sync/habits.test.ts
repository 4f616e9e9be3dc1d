import { expect, it } from 'vitest';
import { openMirrorForReading } from '../../src/mirror/files.ts';
import { readStatus } from '../../src/mirror/status.ts';
import type { Habits } from '../../src/sandbox/habits.ts';
import { virtualHouse } from '../fakes/virtual-house.ts';

/** Fills a mirror from a service with these habits and keeps it for three hours. */
async function lived(habits: Partial<Habits>) {
  await using house = await virtualHouse({ products: 40, habits });
  await house.liveUntil(house.clock.now() + 3 * 3_600_000);
  const { differences, first } = await house.compare();
  const db = openMirrorForReading(house.wiring.mirror.path);
  const alarms = readStatus(db, 5).alarms.map(({ kind }) => kind);
  db.close();
  return { differences, first, alarms };
}

const habits: readonly Partial<Habits>[] = [
  { cached_ms: 6000 },
  { dates: 'weeks' },
  { date_order: 'shuffled' },
  { stray_503: 0.01 },
  { stray_429: 0.01 },
  { stray_reset: 0.01 },
  { limit: 30 },
  { endpoints: 'specification' },
  { unrated: 'zero' },
  { images_null: 0.1 },
  { page_size: 'ignored' },
  { list_order: 'shifting' },
  { counters: 'differing' },
  { clock_skew_ms: 45_000 },
  { slow_ms: 200 },
  { escapes: 0.1 },
];

it.each(habits)('a mirror of a service with %j says what the service says, without an alarm', async (rough) => {
  expect(await lived(rough)).toEqual({ differences: 0, first: [], alarms: [] });
});
