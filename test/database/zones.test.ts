import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { databaseSource } from '../../src/follow/database-source.ts';
import { follow } from '../../src/follow/follower.ts';
import { openMirrorAt } from '../fakes/mirror-at.ts';
import { needs } from '../fakes/needs.ts';
import { testLog } from '../fakes/test-log.ts';
import { temporaryDirectory } from '../fakes/test-mirror.ts';
import { plantZones } from '../fakes/zone-files.ts';
import { publishedStage } from './stage.ts';

const hour = 3_600_000;

describe('rules of a zone that change, with a follower and in PostgreSQL', needs('postgres'), () => {
  it('let the same times pass everywhere', async () => {
    using place = temporaryDirectory();
    const [copy, zones] = [join(place.path, 'copy.db'), join(place.path, 'zones')];
    await using at = await publishedStage(
      20,
      { cadence: { availability: { horizon: 31 } } },
      { machine: (own) => ({ ...own, zones: { directory: zones, runtime: '2026c' } }) },
    );
    const { harness } = at;
    /** Publishes, follows once, and returns how many times of a zone's products are left today: the same at all three. */
    const timesLeft = async (timezone: string) => {
      await at.publication.publish();
      await using source = await databaseSource({ from: at.server.url, schema: 'catalogued', password: null });
      const ending = new AbortController();
      const once = { ...systemClock, sleep: async () => ending.abort() };
      await follow({ source, path: copy, every: 250, clock: once, log: testLog('silent').log, own: 1 }, ending.signal);
      expect(await at.differing()).toEqual({});
      expect(await at.differing(copy)).toEqual({});
      const reader = openMirrorAt(copy, harness.clock.now());
      const rows = reader
        .prepare<[string], { utc_offset: number; times: number }>(
          `SELECT p.utc_offset, (SELECT count(*) FROM availability_slots s WHERE s.product_id = p.product_id) AS times
           FROM product p WHERE timezone = ? AND sellable ORDER BY product_id`,
        )
        .all(timezone);
      reader.close();
      return {
        offsets: new Set(rows.map((row) => row.utc_offset)),
        times: rows.reduce((sum, row) => sum + row.times, 0),
      };
    };
    const timezone = mostTimedZone(harness.daemon.config.mirror.path, harness.clock.now());
    const before = await timesLeft(timezone);
    plantZones(zones, '2026f', { [timezone]: { first: 0, changes: [], footer: '<-1130>11:30' } });
    await harness.liveUntil(harness.clock.now() + 2 * hour);
    const after = await timesLeft(timezone);
    expect(after.offsets).toEqual(new Set([-690]));
    expect(before.offsets).not.toEqual(after.offsets);
    plantZones(zones, '2026f', { [timezone]: { first: 0, changes: [], footer: '<+1330>-13:30' } });
    await harness.liveUntil(harness.clock.now() + 2 * hour);
    const later = await timesLeft(timezone);
    expect(later.offsets).toEqual(new Set([810]));
    expect(later.times).toBeLessThan(after.times);
  }, 180_000);
});

/** The zone with the most hours of a clock that are sold: `whole_day` ends with its day, which may be a day later. */
function mostTimedZone(path: string, now: number): string {
  const reader = openMirrorAt(path, now);
  const zones = reader.prepare<[], string>(
    `SELECT timezone FROM product JOIN availability_slots USING (product_id)
     WHERE sellable AND time <> 'whole_day' GROUP BY timezone ORDER BY count(*) DESC`,
  );
  const zone = zones.pluck().get();
  reader.close();
  return zone ?? '';
}
